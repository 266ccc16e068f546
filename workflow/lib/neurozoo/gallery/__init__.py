"""The gallery: static pages that show a folder of results."""
