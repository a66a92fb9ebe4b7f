"""Write a run as one self-contained HTML page."""
