"""Replaces this process by the compiler's driver: the command `skewer` of the package, and `python -m skewer`."""

import os
import sys


def main() -> None:
    driver = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "skewer")
    if not os.access(driver, os.X_OK):
        sys.exit(f"skewer: this package was built without the command: there is no {driver}")
    os.execv(driver, ["skewer", *sys.argv[1:]])


if __name__ == "__main__":
    main()
