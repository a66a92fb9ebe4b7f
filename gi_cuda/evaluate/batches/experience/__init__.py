"""Earlier results of a search, used to schedule later ones."""
