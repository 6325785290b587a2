"""The faults that plant.py plants, by the part of the compiler that they are in. faults.py puts them together."""
