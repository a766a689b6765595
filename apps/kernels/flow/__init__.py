"""What LU, BT and SP share: the C code of the Navier-Stokes equations, and declarations of BT and SP."""
