"""A platform game: levels of 16 x 56 tiles, an agent that searches its way through them, and pictures of both."""
