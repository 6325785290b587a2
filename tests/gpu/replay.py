#!/usr/bin/env python3
"""Launches kernels that the interpreter ran on this machine's GPU, and compares their results byte by byte.

  SKEWER_LAUNCHES=FOLDER build/release/bin/GpuOrderTests        writes the launches: code for sm_90a, operands, results
  replay.py FOLDER/*.json [--repeats 20]

The kernels are those of the tests of the interpreter: copies of boxes with each swizzle, inside and over the edges of tensors,
products by wgmma of every layout, barriers, a ring of stages. Where a GPU gives other bytes, the interpreter is wrong about it. All
numbers in them are exact, so that the bytes say which element stands where. Prints a line for each file. Exit codes: 0 if all are
right, 1 if one is wrong, 3 if there is no GPU or none of compute capability 9.0.
"""
import argparse
import base64
import ctypes
import json
import struct
import sys

NO_GPU = 3
CAPABILITY = (75, 76)  # CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR and MINOR
DYNAMIC_SHARED = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
SWIZZLES = {0: 0, 32: 1, 64: 2, 128: 3}


class NoGpu(Exception):
    pass


class Wrong(Exception):
    pass


class Driver:
    def __init__(self):
        try:
            self.library = ctypes.CDLL("libcuda.so.1")
        except OSError as error:
            raise NoGpu(f"NVIDIA's driver cannot be loaded: {error}") from error
        device, context, found = ctypes.c_int(), ctypes.c_void_p(), []
        try:
            self.call("cuInit", 0)
            self.call("cuDeviceGet", ctypes.byref(device), 0)
        except Wrong as error:
            raise NoGpu(str(error)) from error
        for attribute in CAPABILITY:
            value = ctypes.c_int()
            self.call("cuDeviceGetAttribute", ctypes.byref(value), attribute, device)
            found.append(value.value)
        if found != [9, 0]:
            raise NoGpu(f"the launches are for compute capability 9.0; this GPU has {found[0]}.{found[1]}")
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self.call("cuCtxSetCurrent", context)

    def call(self, name, *arguments):
        try:
            error = getattr(self.library, name)(*arguments)
        except AttributeError as missing:
            raise Wrong(f"the driver has no function {name}") from missing
        if error:
            said = ctypes.c_char_p()
            self.library.cuGetErrorName(error, ctypes.byref(said))
            raise Wrong(f"{name}: {(said.value or b'an unknown error').decode()} ({error})")

    def allocate(self, data):
        address = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(max(len(data), 1)))
        self.write(address, data)
        return address

    def write(self, address, data):
        self.call("cuMemcpyHtoD_v2", address, data, ctypes.c_size_t(len(data)))

    def read(self, address, count):
        data = ctypes.create_string_buffer(count)
        self.call("cuMemcpyDtoH_v2", data, address, ctypes.c_size_t(count))
        return data.raw

    def tensor_map(self, argument, address):
        """Returns memory that holds the driver's own form of a tensor map, and begins at a multiple of 64 bytes."""
        rank = argument["rank"]
        memory = ctypes.create_string_buffer(128 + 64)
        at = ctypes.addressof(memory) + -ctypes.addressof(memory) % 64
        self.call("cuTensorMapEncodeTiled", ctypes.c_void_p(at), argument["type"], ctypes.c_uint32(rank),
                  ctypes.c_void_p(address.value + argument["address"]), (ctypes.c_uint64 * rank)(*argument["dims"][:rank]),
                  (ctypes.c_uint64 * max(rank - 1, 1))(*argument["strides"][:max(rank - 1, 1)]),
                  (ctypes.c_uint32 * rank)(*argument["box"][:rank]), (ctypes.c_uint32 * rank)(*[1] * rank), 0,
                  SWIZZLES[argument["swizzle"]], 0, 0)
        return memory, at


def difference(got, expected):
    """Returns what differs, with the first places as words and as f32."""
    places = [at for at in range(0, len(expected), 4) if got[at:at + 4] != expected[at:at + 4]]

    def word(data, at):
        four = data[at:at + 4].ljust(4, b"\0")
        return f"{four[::-1].hex()} ({struct.unpack('<f', four)[0]:g})"

    first = "; ".join(f"word {at // 4}: {word(got, at)}, expected {word(expected, at)}" for at in places[:6])
    return f"{len(places)} of {-(-len(expected) // 4)} words differ: {first}"


def replay(driver, launch, repeats):
    arguments = launch["arguments"]
    addresses, expected = {}, {}
    for number, argument in enumerate(arguments):
        if "output" in argument:
            expected[number] = base64.b64decode(argument["output"])
            addresses[number] = driver.allocate(bytes(len(expected[number])))
        elif "input" in argument:
            addresses[number] = driver.allocate(base64.b64decode(argument["input"]))
    values, kept = [], []
    for number, argument in enumerate(arguments):
        if "map" in argument:
            memory, at = driver.tensor_map(argument, addresses[argument["map"]])
            kept.append(memory)
            values.append(at)
        else:
            value = addresses.get(number) or ctypes.c_int64(argument["number"])
            kept.append(value)
            values.append(ctypes.addressof(value))
    module, function = ctypes.c_void_p(), ctypes.c_void_p()
    driver.call("cuModuleLoadDataEx", ctypes.byref(module), base64.b64decode(launch["code"]) + b"\0", 0, None, None)
    driver.call("cuModuleGetFunction", ctypes.byref(function), module, b"kernel")
    shared = launch["shared_bytes"]
    driver.call("cuFuncSetAttribute", function, DYNAMIC_SHARED, shared)
    for call in range(1, repeats + 1):
        for number, data in expected.items():  # memory begins as zeros, as in the interpreter
            driver.write(addresses[number], bytes(len(data)))
        driver.call("cuLaunchKernel", function, 1, 1, 1, launch["threads"], 1, 1, shared, None, (ctypes.c_void_p * len(values))(*values),
                    None)
        driver.call("cuCtxSynchronize")
        for number, data in expected.items():
            got = driver.read(addresses[number], len(data))
            if got != data:
                raise Wrong(f"call {call} of {repeats}, argument {number}: {difference(got, data)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("launches", nargs="+", metavar="FILE.json")
    parser.add_argument("--repeats", type=int, default=20, help="calls of each kernel (default %(default)s)")
    options = parser.parse_args()
    try:
        driver = Driver()
    except NoGpu as error:
        print(f"replay: not run: {error}", file=sys.stderr)
        sys.exit(NO_GPU)
    wrong = False
    for path in options.launches:
        with open(path, encoding="utf-8") as stream:
            launch = json.load(stream)
        try:
            replay(driver, launch, options.repeats)
            print(f"ok     {launch['test']}", flush=True)
        except Wrong as error:
            wrong = True
            print(f"WRONG  {launch['test']}: error: {error}", flush=True)
    sys.exit(int(wrong))


if __name__ == "__main__":
    main()
