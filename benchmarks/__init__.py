"""nbtoolkit's costs, beside a floor and its peers in one run; see README.md."""
