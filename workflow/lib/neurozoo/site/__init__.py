"""The gallery: static pages of all that lies in a folder of results."""
