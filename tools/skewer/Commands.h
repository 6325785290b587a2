// The commands of the driver; each returns the process's exit code. They say what is wrong, and print, by Messages.h.
#pragma once
#include "tools/skewer/Options.h"
#include "tools/skewer/WriteFiles.h"

namespace skewer::driver {

int compile(const Options &);
/// The same without writing anything: the files, with paths in the output folder.
int compileInMemory(const Options &, std::vector<OutputFile> &);
int run(const Options &);
int bench(const Options &);
int explain(const Options &);
/// Without a file for the picture it is printed.
int plot(const Options &);
int report(const Options &);
int schemes(const Options &);
int format(const Options &);
int target(const Options &);

} // namespace skewer::driver
