"""Random texts, and changes of a text that leave its meaning as it is."""
