"""What the text of a kernel says of the data that it works on."""
