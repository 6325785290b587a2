"""large_arguments.py FOLDER: writes arguments whose exponentials and squares are on both sides of the largest f32 and f16."""
import os
import sys

import numpy as np

folder = sys.argv[1]
exponents = [-200, -88.5, -87, 0, 80, 88.0, 88.03, 88.3, 88.37, 88.38, 88.5, 88.6, 88.7, 88.72, 88.7228, 1]
np.save(os.path.join(folder, "below.npy"), np.array(exponents, np.float32))
np.save(os.path.join(folder, "beyond.npy"), np.array(exponents[:-3] + [88.73, 88.9, 1000], np.float32))
np.save(os.path.join(folder, "halves.npy"), np.array([*range(1, 13), 255, 255.875, 256, -300], np.float16))
