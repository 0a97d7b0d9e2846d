"""Where answers run: a worker behind walls, and the values that cross its border."""
