"""Write a proposed target as the files of its folder."""
