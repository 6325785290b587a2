// Finds fatbinary and runs it on temporary files.
#include "codegen/GPU/Fatbinary.h"
#include "codegen/GPU/Tool.h"
#include <list>

using namespace llvm;

Expected<std::string> skewer::gpu::findFatbinary(StringRef cudaPath) {
  std::string ptxas;
  if (auto found = findPtxas(cudaPath))
    ptxas = std::move(*found);
  else
    consumeError(found.takeError());
  std::string path = findTool("fatbinary", cudaPath, ptxas);
  if (!path.empty())
    return path;
  return createStringError(
      inconvertibleErrorCode(),
      "--fatbin: fatbinary was not found, which joins cubins and PTX; it comes with ptxas: install "
      "a CUDA toolkit or the Python package nvidia-cuda-nvcc, and name its folder with --cuda-path "
      "(the one that holds bin/fatbinary)");
}

Expected<std::string> skewer::gpu::fatbinOf(ArrayRef<GpuCode> codes, StringRef fatbinary) {
  std::list<TemporaryFile> files;
  std::vector<std::string> images;
  auto fatbin = TemporaryFile::create("fatbin");
  if (!fatbin)
    return fatbin.takeError();
  for (const GpuCode &code : codes)
    for (auto [kind, bytes] : {std::pair{"elf", &code.cubin}, {"ptx", &code.ptx}}) {
      if (bytes->empty())
        continue;
      auto file = TemporaryFile::create(kind, *bytes);
      if (!file)
        return file.takeError();
      files.push_back(std::move(*file));
      images.push_back(("--image3=kind=" + Twine(kind) + ",sm=" + StringRef(code.target.name).drop_front(3) +
                        ",file=" + files.back().path())
                           .str());
    }
  std::string create = ("--create=" + fatbin->path()).str();
  std::vector<StringRef> arguments{"-64", create};
  arguments.insert(arguments.end(), images.begin(), images.end());
  auto said = runTool(fatbinary, arguments);
  if (!said)
    return said.takeError();
  std::string bytes = fatbin->contents();
  if (bytes.empty())
    return createStringError(inconvertibleErrorCode(), "fatbinary left no fat binary");
  return bytes;
}
