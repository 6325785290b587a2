// A range of seeds, several at a time.
#pragma once
#include "tests/fuzz/Coverage.h"

namespace skewer::fuzz {

struct Range {
  uint64_t begin = 0, end = 0; // `end` is not included
};

struct CampaignOptions {
  Range seeds;
  unsigned jobs = 1, limitSeconds = 60; // of one seed
  double seconds = 0;                   // start no seed after this time; 0: go to the end
  bool gpu = false;                     // GPU kernels instead of this processor's
  std::string type;                     // of operands and results; empty: what the seed says
  bool onlyFusion = false, shrink = true, guardPages = true, quiet = false;
  bool wholeTolerance = false; // says how much of the tolerance the largest error takes
  unsigned mostFailures = 10; // then stop
  std::string saveFolder;     // small failing specs go there, if it is named
  std::string exportFolder;   // SEED/KERNEL of it gets every layer, its operands and its results, if it is named
};

struct CampaignResult {
  uint64_t next = 0; // all seeds before it are done
  unsigned failures = 0;
  Coverage coverage;
};

/// Returns the layer of a seed, in this type if one is named.
Spec specOfSeed(uint64_t seed, bool forGpu, const std::string &type);

CampaignResult runCampaign(const CampaignOptions &);

/// One spec's text, for every target that the host can stand in for, with three threads, without fusion, and with a NaN
/// in each operand; or, of GPUs, in two tiles and with a NaN in each operand. Prints what fails; returns how many did.
unsigned judgeFile(const std::string &text, const CampaignOptions &);

} // namespace skewer::fuzz
