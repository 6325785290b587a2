"""Refuses AMX in a shared object before its first call, and prints the code that runs: `refuse_in_shared.py KERNEL.so`."""
import ctypes
import os
import sys

path = os.path.abspath(sys.argv[1])
kernel = ctypes.CDLL(path)
ctypes.c_int.in_dll(kernel, "skewer_refuse_amx").value = 1
code = getattr(kernel, os.path.splitext(os.path.basename(path))[0] + "_code")
code.restype = ctypes.c_char_p
print(code().decode())
