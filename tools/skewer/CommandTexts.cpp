// The texts that `skewer --help` and `skewer COMMAND --help` print above the options.
#include "tools/skewer/CommandTexts.h"

namespace skewer::driver {

const char *overview() {
  return "Compiles attention layers with positions to kernels without a runtime.\n\n"
         "  skewer compile botnet.attn -o out     object file, C header, manifest\n"
         "  skewer run rel1d.attn -D N=64         run it here, checked against a float64 reference\n"
         "  skewer bench rel1d.attn -D N=1024     time it beside this processor's peak\n"
         "  skewer explain botnet.attn            what became of each term\n"
         "  skewer plot rel1d.attn -o rel1d.svg   how positions are read, scores, tables\n"
         "  skewer report rel1d.attn -o r.html    all of that as one page for a browser\n"
         "  skewer schemes [NAME]                 the built-in schemes, the source of one\n"
         "  skewer format -i botnet.attn          lay it out in one way\n"
         "  skewer target                         the processors it knows, and this one measured\n\n"
         "'skewer COMMAND --help' lists a command's options. Exit codes: 0 done, 1 the input or a result is wrong, 2 "
         "usage,\n"
         "3 there is no GPU to run on.\n";
}

const char *overviewOf(Command command) {
  switch (command) {
  case Command::Compile:
    return "A spec (.attn, or .mlir of the attn dialect) becomes NAME.o, NAME.h and NAME.json for each of its "
           "kernels.\n\n"
           "  skewer compile botnet.attn -o out\n"
           "  skewer compile rel1d.attn -D N=1024 --target=cascadelake -o out --emit=fused,asm\n"
           "  skewer compile layer.attn --target=host,sm_80,sm_90a -o out     (for NVIDIA GPUs too: layer_cuda())\n"
           "  skewer compile layer.attn --target=sm_80 --ptx-only -o out      (without ptxas)\n";
  case Command::Run:
    return "Compiles a kernel into this process, runs it and compares the result with the float64 reference or with a "
           "file.\n\n"
           "  skewer run rel1d.attn -D N=64\n"
           "  skewer run botnet.attn --size batch=2 --threads 4\n"
           "  skewer run layer.attn --target=gpu        (on this machine's GPU; exit code 3 where there is none)\n"
           "  skewer run botnet.attn --input q=q.npy --input k=k.npy --expect o.npy --tolerance 1e-5 --output "
           "got.npy\n";
  case Command::Bench:
    return "Checks each kernel once, then times it: GFLOP/s and the share of the FMA peak measured beside it.\n\n"
           "  skewer bench rel1d.attn -D N=1024 --threads 2\n"
           "  skewer bench botnet.attn --size batch=64 --unfused --json\n"
           "  skewer bench rel1d.attn --plain           (what do the positions cost?)\n"
           "  skewer bench layer.attn --target=gpu      (on this machine's GPU, by its own clock)\n\n"
           "With --sweep it does so at several sizes, and adds plain attention, the roofline, workspace and compile "
           "time:\n\n"
           "  skewer bench rel1d.attn --sweep N=128:16384 -o n.svg        (128, 256, 512, …; with a picture)\n"
           "  skewer bench rel1d.attn --sweep dim=32:128:32 -D N=1024     (32, 64, 96, 128)\n"
           "  skewer bench rel1d.attn --sweep batch=1,4,16 --json         (a list)\n"
           "  skewer bench rel1d.attn --sweep threads=1:8\n";
  case Command::Explain:
    return "Prints each term's class and strategy, what was composed, dropped and never held, what a mask leaves,\n"
           "the work, its roofline and the predicted time, and for what did not fuse the line and the memory it "
           "costs.\n\n"
           "  skewer explain botnet.attn\n"
           "  skewer explain rel1d.attn -D N=1024 --target=zen4 --json\n"
           "  skewer explain rel1d.attn -D N=4096 --target=sm_80       (registers, occupancy, instructions)\n";
  case Command::Plot:
    return "Draws a kernel's first attention as SVG: the row of each table that each query and key read, scores and\n"
           "biases of seeded inputs by the float64 reference, and how alike the rows of each table are.\n\n"
           "  skewer plot rel1d.attn -D N=8 -o rel1d.svg\n"
           "  skewer plot botnet.attn --input rel_h=rel_h.npy --input rel_w=rel_w.npy -o botnet.svg\n";
  case Command::Report:
    return "Writes one HTML page that needs nothing else: the text, the verdict, terms and classes, skew diagrams\n"
           "(point at a pair and see which row of which table it reads), masks with live and dead tiles, scores,\n"
           "weights and tables, the roofline and the schedule.\n\n"
           "  skewer report botnet.attn -o botnet.html\n"
           "  skewer report rel1d.attn -D N=1024 --head 3 --target=zen4 -o rel1d.html\n";
  case Command::Schemes:
    return "Lists the built-in positional schemes: files of the language itself, called from a spec by name. With\n"
           "the name of a scheme, its source, with the schemes that it calls; with that of a file, the file.\n\n"
           "  skewer schemes\n"
           "  skewer schemes alibi\n";
  case Command::Format:
    return "Lays .attn files out in one way: spaces, indentation, columns. Lines stay as they were broken, comments "
           "stay,\n"
           "and what a text means is the same. Prints the text, or with -i writes the files.\n\n"
           "  skewer format layer.attn\n"
           "  skewer format -i *.attn\n"
           "  skewer format --check *.attn\n";
  case Command::Target:
    return "Without a name: the processors whose descriptions come with Skewer. With one: its machine file, for\n"
           "--target=. With --probe: the file of this machine, with what was measured here (docs/machines.md).\n\n"
           "  skewer target\n"
           "  skewer target zen4\n"
           "  skewer target --probe -o my.json\n"
           "  skewer bench rel1d.attn -D N=1024 --target=my.json\n";
  }
  return "";
}

} // namespace skewer::driver
