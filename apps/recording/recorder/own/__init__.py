"""Process state that each rank has to itself, and inputs of a program other than files: an add-on."""
