// Polynomial coefficients of f32 functions, lowest degree first. They minimise the largest relative error (weighted
// least squares, Lawson 1961), and are rounded to f32 one after another.
#pragma once

namespace skewer::polynomials {

/// tanh |x| = (e - u) / (e + u), where |x| = n · ln(2)/2 + r with a rest r within ln(2)/4, u = 2^-n, and
/// e = exp(2r) = 1 + 2r + r² · p(r). From 9.02 on, u is negligible next to e in f32, and tanh is 1.
constexpr float kTwoPerLn2 = 2.88539004f, kHalfLn2 = 0.346573591f, kTanhIsOne = 9.02f;
constexpr float kTanhExcess[] = {1.99999988f, 1.33332372f, 0.666678965f, 0.267720729f, 0.0887725428f};

/// erf x = x + x · p(x²) up to 0.92. For larger |x| it is 1 - exp(|x| · p(|x|) - |x|), which is 1 from 4 on.
constexpr float kErfIsFar = 0.92f, kErfIsOne = 4;
constexpr float kErfNear[] = {0.128379166f,  -0.376126289f,  0.112836257f, -2.68557277e-2f,
                              5.19238087e-3f, -8.04928946e-4f, 7.99367626e-5f};
constexpr float kErfFar[] = {-0.12864849f,  -0.635151327f, -0.106236845f, 2.3762019e-2f,
                             -3.6424296e-3f, 3.22794047e-4f, -1.123003e-5f};

} // namespace skewer::polynomials
