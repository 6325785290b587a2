"""The results of comparing a layer with its float64 reference."""

from typing import NamedTuple, Tuple


class Compared(NamedTuple):
    """One result compared with the float64 reference. `rows` of its `all_rows` were compared. `error` is the largest difference
    and `tolerance` the largest one that is allowed, both as shares of the largest value. `mismatches` counts elements that are
    finite on one side only. `where` is the worst element. `not_finite` counts the elements of all rows of the result that are
    NaN or infinite; the reference may agree with them."""

    result: str
    rows: int
    all_rows: int
    error: float
    tolerance: float
    mismatches: int
    where: str
    not_finite: int = 0

    @property
    def passed(self) -> bool:
        return not self.mismatches and self.error <= self.tolerance


class Check(NamedTuple):
    """The results of a layer compared with its float64 reference. It is true if all of them passed."""

    name: str
    results: Tuple[Compared, ...]

    @property
    def passed(self) -> bool:
        """True if every result is within its tolerance."""
        return all(one.passed for one in self.results)

    def __bool__(self) -> bool:
        return self.passed

    def __repr__(self) -> str:
        lines = [f"{self.name}: {'passed' if self.passed else 'failed'}"]
        for one in self.results:
            lines.append(f"  {one.result}: {one.rows} of {one.all_rows} rows compared with the float64 reference, largest error "
                         f"{one.error:.3g} of the largest value (tolerance {one.tolerance:.3g})")
            if one.mismatches:
                lines.append(f"    {one.mismatches} elements are NaN or infinite on one side only; first at {one.where}")
            elif not one.passed:
                lines.append(f"    worst at {one.where}")
            if one.not_finite and not one.mismatches:
                lines.append(f"    {one.not_finite} elements of the result are NaN or infinite, as the text and these operands have it")
        return "\n".join(lines)

    def __str__(self) -> str:
        return repr(self)
