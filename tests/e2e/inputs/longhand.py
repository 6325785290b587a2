"""longhand.py FOLDER: compares two kernels in each .attn file of the folder: `text`, as a user would write it, and `longhand`,
which means the same in other words. Both must give the same numbers, on the fused and on the generic path."""
import os
import subprocess
import sys
import tempfile


def skewer(*arguments):
    ran = subprocess.run(("skewer", "run") + arguments, capture_output=True, text=True)
    if ran.returncode:
        print("skewer run %s\n%s" % (" ".join(arguments), ran.stdout + ran.stderr))
    return ran.returncode == 0


def main():
    good = True
    with tempfile.TemporaryDirectory() as folder:
        result = os.path.join(folder, "result.npy")
        for name in sorted(name for name in os.listdir(sys.argv[1]) if name.endswith(".attn")):
            path = os.path.join(sys.argv[1], name)
            for way in ((), ("--unfused",)):
                good &= skewer(path, "--kernel=longhand", "--output", result, *way)
                good &= skewer(path, "--kernel=text", "--expect", result, *way)
            print(name)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
