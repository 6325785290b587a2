// The text form of param values.
#include "dialect/Language/Parameter.h"
#include <fmt/format.h>

std::string skewer::language::Parameter::text() const {
  if (!isReal)
    return fmt::format("{}", whole);
  std::string shortest = fmt::format("{}", real); // with a point or an exponent, it is read as a real number again
  return shortest.find_first_of(".en") == std::string::npos ? shortest + ".0" : shortest;
}
