// The typer: turns the syntax tree into typed tensors (Typed.h). importSource (Language.h) runs it after the parser; it
// resolves names first (Resolver.h). It implements the rules of the language and reports all errors except those that
// need the finished function (Emission.h). It decides how every expression is computed, and creates no operation of
// MLIR: it uses the context only to look up functions of plugins.
#pragma once
#include "dialect/IR/ElementFunction.h"
#include "dialect/Language/Ast.h"
#include "dialect/Language/Diagnostics.h"
#include "dialect/Language/Language.h"
#include "dialect/Language/Resolver.h"
#include "dialect/Language/Typed.h"
#include "dialect/Subscript/Checks.h"

namespace skewer::language {

/// A part of a longer axis: its position `axis` is the position `axis + origin` of `length`.
struct Part {
  subscript::Expr origin;
  int64_t extent = 0, length = 0;
};

/// The names that a piece of the specification sees. `axes` are the positions that einsums or a scheme's operands have
/// named, in order.
struct Scope {
  std::map<std::string, Value> values;
  std::map<std::string, llvm::StringRef> declared; // the places, for notes and warnings about unused names
  std::set<std::string> used;
  std::vector<Axis> axes;
  std::map<std::string, Part> parts;    // by axis
  std::set<std::string> unknown;        // names already reported as unknown
  const Scope *caller = nullptr;        // only of a scheme: the scope that it does not see
  std::set<std::string> among;          // the axes of the tensor that a condition is about
  std::map<std::string, Clash> clashes; // clashes of the tensor before `where`
  bool isBuiltin = false;               // a built-in scheme, which sees no names of the file

  std::map<std::string, std::vector<Axis>> sizes;     // all sizes that an axis has in this piece
  std::map<std::string, llvm::StringRef> reliances;   // where one size of an axis was assumed to be the only one
  std::set<std::string> ownAxes;                      // axes of a condition or a table, whatever is around it
  std::set<std::string> inherited;                    // only of a scheme: axes of its caller
  const Axis *axis(const std::string &name) const;
  /// Adds an axis that the text names; returns whether the axis is new or has a new size. An axis that is summed over
  /// is not a position after its sum.
  bool learn(const Axis &, bool isPosition = true);
  /// Returns the scope of an expression that has axes of its own; `returnFrom` takes back what that scope records.
  Scope withAxes(llvm::ArrayRef<Axis> own) const;
  void returnFrom(const Scope &inner);
};

/// The sizes of axes that the statements of a kernel, and of the schemes that it calls, determine.
struct AxisFacts {
  // By the calls that lead there.
  std::map<std::vector<const Node *>, std::map<std::string, std::vector<Axis>>> found;
};

class Typer {
public:
  Typer(Diagnostics &, const Options &, mlir::MLIRContext *);
  /// Adds built-in schemes. One counts only if `program` has no scheme of that name.
  void addBuiltins(const Program &builtin);
  /// Calls `finished` with each kernel after it is typed, until there is an error.
  void type(const Program &, llvm::function_ref<void(const typed::Kernel &)> finished);
  /// Returns whether a name is a whole number known at compile time in the whole file.
  bool isWholeParam(llvm::StringRef name) const;

private:
  // Typer.cpp: declarations, types and statements.
  void declare(const Program &);
  void declareLength(const LengthDeclaration &);
  bool shape(const TypeExpression &, Dimensions &);
  bool typeBody(const std::vector<Statement> &, Value &result, llvm::StringRef &place, llvm::StringRef end);
  bool assign(const Statement &, Value);
  void nameAt(llvm::StringRef name, const Value &);
  bool checkRequirement(const Statement &);

  // TypeKernel.cpp: a kernel.
  bool typeKernel(const Kernel &);
  bool declareOperands(const Kernel &, Scope &own, typed::Kernel &);
  bool declareResults(const Kernel &, Scope &own, typed::Kernel &);
  void bindOperands(Scope &own);
  void finishKernel(const Kernel &, Value result, llvm::StringRef place);
  typed::Tensor *finishResult(const Kernel &, size_t number, const Value &, llvm::StringRef place);

  // TypeParts.cpp: parts of larger layers.
  bool declarePart(const Statement &);
  const Part *partOf(const std::string &axis) const;
  subscript::Expr globalPosition(const std::string &axis) const;
  bool readsWhole(const std::string &axis, int64_t extent) const;
  subscript::Expr positionFor(const subscript::Expr &, int64_t extent) const;
  Value localised(const Node &, const Value &tensor);
  RealPtr withoutOrigins(const RealPtr &, subscript::Domain &, subscript::Substitution &back) const;

  // Evaluate.cpp: expressions without tensors, and the dispatch to the others.
  Value evaluate(const Node &);
  Value evaluateNode(const Node &);
  bool isPlainNumber(const Node &);
  Value evaluateName(const Node &);
  Value evaluateUnary(const Node &);
  Value evaluateBinary(const Node &);
  Value evaluateNumbers(const Node &, llvm::StringRef op, const Value &, const Value &);
  Value evaluateBits(const Node &, llvm::StringRef op, const Value &, const Value &);
  Value bitsOf(const Node &, const Value &, const Value &, const subscript::Expr &);
  Value evaluateIndices(const Node &, llvm::StringRef op, const Value &, const Value &);
  Value evaluateCall(const Node &);
  std::optional<int64_t> evaluateWhole(const Node &, llvm::StringRef what);
  std::optional<std::vector<int64_t>> evaluateWholes(const Node &, llvm::StringRef what);
  Value error(llvm::StringRef place, const std::string &message);

  // RecordDecisions.cpp: the decisions that numbers cause, for callers that ask.
  void record(Decision);
  Value decided(const Node &, Value number, RealPtr made = nullptr);
  bool decided(const Node &, bool truth, RealPtr made);
  bool decidedWhole(const Node &, bool isWhole, RealPtr remainder);
  void decidedTable(const Node &, std::vector<double> values, const RealForms &, bool isTensor = false);
  subscript::Expr simplified(const subscript::Expr &, const subscript::Domain &) const;

  llvm::StringRef wholeText() const;
  std::vector<std::string> visibleNames() const;

  // Complaints.cpp: errors that suggest what may have been meant.
  Value unknownName(const Node &);
  Value unknownCall(const Node &, const std::vector<std::string> &names);
  Value notAnOperand(llvm::StringRef place, const std::string &who, const Value &);
  bool isPartOfAxis(const std::string &name) const;
  bool noteOnAxis(const std::string &name);
  bool isAfterSlashes(llvm::StringRef place) const;
  const Value *lookup(const std::string &name);
  Value elementOf(const Node &, const Value &list);

  // Names.cpp: the meaning of ambiguous names.
  Value ambiguous(llvm::StringRef place, const std::string &name, const Value &);
  Value clashing(llvm::StringRef place, const std::string &name, const Clash &);
  Value positionAlong(const Node &, const std::string &axis, const Axis &);
  Value typePosition(const Node &);
  bool nameIndices(subscript::Einsum &, llvm::StringRef text, const subscript::AxisSizes &given);
  bool checkAxisNames(const subscript::Einsum &, llvm::StringRef text, const subscript::AxisSizes &);
  void noteInnerAxes(const Node &, const Value &condition, const Dimensions &);

  // TypeFunctions.cpp: elementwise functions and index functions.
  bool isFunction(llvm::StringRef name) const;
  Value typeFunction(const Node &);
  Value typeLength(const Node &);
  Value chosen(const Node &, llvm::ArrayRef<Value> arguments, size_t k);
  Value functionOfNumbers(const Node &, llvm::ArrayRef<Value> arguments);
  Value functionOfIndices(const Node &, llvm::ArrayRef<Value> arguments);
  Value functionOfPositions(const Node &, llvm::ArrayRef<Value> arguments);
  Value functionOfTensors(const Node &, llvm::ArrayRef<Value> arguments);
  Value elementwiseFunction(const Node &, llvm::StringRef name, Value tensor);
  /// Returns the name of a function of one argument, which tensors have too; empty if the kind is no such function.
  static llvm::StringRef elementwiseName(RealKind);

  // TypeApplied.cpp: functions of single numbers, including those of plugins.
  Value typeApplied(const Node &, const attn::ElementFunction &);
  Value applied(const Node &, const attn::ElementFunction &, std::vector<Value> arguments);

  // TypeComparison.cpp: conditions on values.
  static bool isConditionOnValues(const Value &);
  Value compare(const Node &, llvm::StringRef op, Value left, Value right);
  Value joinTruths(const Node &, llvm::StringRef op, Value left, Value right);
  Value chooseByValues(const Node &, const Node &place, const Value &condition, Value yes, Value no);

  // Numbers.cpp: the allowed values of whole numbers and positions.
  bool fits64(llvm::StringRef place, const subscript::Expr &, const subscript::Domain &);
  bool isDefined(llvm::StringRef place, const subscript::Expr &, const subscript::Domain &);
  Value whereItFits(const Node &, Value index);
  subscript::Domain domainOf(const Value &) const;

  // TypeReal.cpp: functions of positions that are evaluated at compile time.
  static bool isFunctionOfPositions(const Value &);
  Value realValue(const Node &, RealKind, llvm::ArrayRef<Value> operands);
  std::optional<RealForms> smallForms(const Node &, const Value &, bool complain);
  std::optional<subscript::Expr> asSteps(const Value &);
  std::optional<subscript::Expr> asIndex(const Node &, const Value &, const std::string &what);
  Value realTensor(const Node &, const Value &);
  Value typeReal(const Node &, const RealFunction &, const Value &);
  Value typeTabulate(const Node &);

  // TypeIndices.cpp: run-time index operands.
  Value indexOperand(llvm::StringRef name, Dimensions);
  bool declaredRange(const KernelOperand &, typed::Operand &);
  std::optional<double> numberOfSpread(const Node &, const std::string &what);
  bool declaredSpread(const KernelOperand &, typed::Spread &);
  Value typeIndexRead(const Node &, const Value &operand);
  // TypeRanges.cpp: the ends of the ranges of index operands.
  Value typeEndOfRange(const Node &);
  std::optional<int64_t> endOfRange(const Node &);
  bool isAlikeAtAllLengths(const subscript::Expr &);
  Value readIndex(llvm::StringRef place, const Value &operand, llvm::ArrayRef<subscript::Expr> subscripts,
                  const std::map<std::string, Axis> &axes);
  void sizesOfReads(const subscript::Einsum &, std::map<std::string, Axis> &axes);

  // TypeScheme.cpp, SchemeAxes.cpp: inlining, and the axes for which a scheme and its caller have different names.
  struct SchemeCall;
  Value inlineScheme(const Node &, const Scheme &);
  bool checkCall(const Node &, const Scheme &);
  bool evaluateArguments(SchemeCall &);
  bool bindArguments(SchemeCall &);
  bool bindOther(SchemeCall &, const SchemeOperand &, Value argument, const Node &place);
  bool bindAxes(SchemeCall &, const SchemeOperand &, const Value &tensor, const Node &place);
  void settleNames(SchemeCall &);
  bool nameScoreAxis(SchemeCall &, const std::string &axis);
  bool takeCallersAxis(SchemeCall &, const std::string &axis, const Axis &callers, llvm::StringRef place);
  void hideAxes(SchemeCall &);
  void inheritParts(SchemeCall &);
  Value withSignature(SchemeCall &, Value result);
  Value broughtOut(SchemeCall &, Value result);

  // TypeEinsum.cpp
  Value typeEinsum(const Node &);
  bool checkRanks(const Node &, const subscript::Einsum &, const std::vector<Value> &, llvm::StringRef text);
  bool checkOnes(const subscript::Einsum &, llvm::ArrayRef<Value>, llvm::StringRef text);
  void addOnes(const Node &, subscript::Einsum &, std::vector<Value> &operands, const subscript::AxisSizes &all,
               llvm::ArrayRef<std::string> written);
  void noteOnWord(llvm::StringRef word);
  bool nameNumbers(subscript::Einsum &, llvm::StringRef text, const std::vector<Value> &,
                   const std::map<std::string, int64_t> &numbers, subscript::AxisSizes &given);
  bool checkRead(llvm::StringRef place, llvm::StringRef tensor, const Axis &);
  Value typeRead(const Node &, const Value &base);
  bool einsumSizes(const Node &, subscript::Einsum &, const std::vector<Value> &, llvm::StringRef text,
                   llvm::ArrayRef<std::string> written, subscript::AxisSizes &given, subscript::AxisSizes &all);
  bool checkResultAxes(const subscript::Einsum &, llvm::StringRef text, const subscript::AxisSizes &given);
  bool adoptSizes(const Node &, const subscript::Einsum &, llvm::StringRef text,
                  llvm::ArrayRef<std::vector<int64_t>> shapes, llvm::ArrayRef<std::string> written,
                  subscript::AxisSizes &given);
  bool substituteLengths(subscript::Einsum &, llvm::StringRef text, const subscript::AxisSizes &all);
  bool substituteNames(subscript::Einsum &, llvm::StringRef text, llvm::ArrayRef<std::string> written,
                       const subscript::AxisSizes &given);
  std::optional<subscript::Expr> standInFor(const std::string &symbol, llvm::StringRef call,
                                            const std::set<std::string> &axes);
  bool evaluateCalls(subscript::Einsum &, const subscript::AxisSizes &all);
  std::optional<subscript::Expr> evaluateCallsIn(const subscript::Expr &, const subscript::AxisSizes &all);
  std::optional<subscript::Expr> replaceReads(const subscript::Expr &, llvm::StringRef place);
  bool keywordSizes(const Node &, subscript::AxisSizes &given, llvm::ArrayRef<llvm::StringRef> others = {});
  std::vector<std::string> writtenAxes(const subscript::Einsum &, llvm::StringRef symbols,
                                       const subscript::AxisSizes &given);
  Value buildEinsum(const Node &, subscript::Einsum &, std::vector<Value>, const subscript::AxisSizes &given,
                    const subscript::AxisSizes &all, llvm::ArrayRef<std::string> written = {});
  subscript::Expr builtIndex(const subscript::Dimension &, const Dimension &own, const subscript::AxisSizes &all,
                             const subscript::Domain &, const std::map<std::string, Axis> &readAxes) const;
  bool nameRuntime(const subscript::Dimension &, const Dimension &own, const subscript::AxisSizes &all,
                   llvm::StringRef place, std::map<std::string, std::string> &runtimes);
  std::optional<Dimensions> einsumResult(const subscript::Einsum &, llvm::StringRef text,
                                         const subscript::AxisSizes &all,
                                         const std::map<std::string, std::string> &runtimes);

  // AxisSizes.cpp: axes whose size is not known from their own statement.
  void rememberAxes(const Dimensions &);
  void rememberAxis(const Axis &, bool isPosition);
  void sayTwoSizes(llvm::StringRef place, const std::string &name, llvm::ArrayRef<Axis>);
  bool relyOnSize(llvm::StringRef place, const std::string &name);
  bool relyOnSizes(llvm::StringRef place, const Value &function, const Dimensions *beside);
  std::optional<Axis> adoptedAxis(llvm::StringRef place, const std::string &name, bool *isAmbiguous = nullptr);
  bool learnLater(const std::string &name);
  const Axis *axisOfBody(const std::string &name);
  const AxisFacts *factsOfAll(bool readsTell);
  bool learnFrom(const AxisFacts *, const std::string &name);
  bool scout(AxisFacts &, bool readsTell);
  void scoutParts(const Node &);
  void learnFromRead(const Node &subscript, const Dimension &);
  void learnFromOthers(const Node &, const subscript::Einsum &, llvm::ArrayRef<Value> operands,
                       subscript::AxisSizes given);
  // ResultSizes.cpp: sizes known from the type of a result.
  void expect(const Node &, const std::vector<Statement> &body, const Dimensions &);
  void expectResults(const Kernel &);
  void expectOfScheme(const Node &call, const Scheme &);
  std::optional<Axis> expectedAxis(const Node &einsum, const subscript::Einsum &, const std::string &name) const;

  void inheritAxis(const std::string &name, Scope &own);
  void returnAxes(llvm::StringRef call, const Scope &own);

  // TypeSum.cpp: sum(x, axis), mean(x, axis), and sums in an einsum that may be mistakes.
  struct AlongAxes {
    Value operand;
    std::vector<std::optional<size_t>> naming; // for each dimension: its naming that has some of the axes
    std::vector<bool> whole;                   // dimensions chosen by their place
    std::set<std::string> names;               // axes chosen by name
  };
  std::optional<AlongAxes> alongAxes(const Node &, llvm::StringRef usage, llvm::StringRef done);
  struct WithoutAxes {
    subscript::Einsum spec;
    subscript::AxisSizes given, all;
    Dimensions kept;
    double count = 1; // the number of elements along the axes whose sizes are known
    bool isStatic = true;
  };
  WithoutAxes withoutAxes(const AlongAxes &);
  Value sumAlong(const Node &, const AlongAxes &, WithoutAxes, const Value &tensor);
  Value typeSum(const Node &);
  Value typeMean(const Node &);
  std::optional<std::set<std::string>> meantSums(const Node &, const subscript::Einsum &, llvm::StringRef text);
  void warnOfLoneSums(const subscript::Einsum &, llvm::StringRef text, const subscript::AxisSizes &,
                      const std::set<std::string> &meant);

  // TypeReductions.cpp: other functions along axes: max(x, axis = j), cumsum(x, j).
  Value typeExtremum(const Node &);
  Value typeCumulativeSum(const Node &);
  void warnOfExtremum(const Node &, const Value &left, const Value &right);

  // TypeElementwise.cpp: arithmetic and broadcasting.
  Value arithmetic(const Node &, llvm::StringRef op, Value, Value);
  std::optional<Value> timesCondition(const Node &, const Value &left, const Value &right);
  bool align(const Node &, Value &, Value &);
  bool alignByName(const Node &, Value &small, const Value &large);
  bool fillOnes(const Node &, const Value &named, Value &tensor);
  void noteOnShapes(const Node &, const Value &small, const Value &large);
  bool alignByPosition(const Node &, Value &small, const Value &large);
  Value toTensor(const Node &, const Value &, const Dimensions *beside = nullptr);
  Value repeatedAlong(const Node &, Value, const std::map<std::string, Axis> &axes, const Dimensions *beside);
  static Value sizedBy(Value function, const Dimensions &);
  Value positionTensor(const Node &, const subscript::Expr &, Dimensions);
  Value widen(const Node &, Value);
  typed::Tensor *splat(const Node &, double number, const Dimensions &);
  typed::Tensor *elementwise(const Node &, typed::Function, llvm::ArrayRef<typed::Tensor *> operands,
                             const Dimensions &);

  // TypeNumbers.cpp: numbers beside tensors, which the kernel may compute at run time from lengths.
  RealPtr madeBy(const Node &, RealKind, llvm::ArrayRef<Value> operands) const;
  Value made(const Node &, RealKind, llvm::ArrayRef<Value> operands, Value number);
  typed::Tensor *beside(const Node &, const Value &number, const Dimensions &);
  Value atRunTime(const Node &, const RealFunction &);
  typed::Tensor *tableAtRunTime(const Node &, const RealForms &);
  void noteFiniteMask(const Node &, llvm::StringRef op, const Value &operand, const Node &place);

  // TypeSoftmax.cpp: softmax, logsumexp, conditions.
  Value typeSoftmax(const Node &);
  Value typeLogSumExp(const Node &);
  struct Rows {
    Value tensor;
    size_t axis = 0; // the dimension that the rows run along; the last one of `tensor`
    std::vector<Naming> names;
    std::optional<subscript::Expr> mask;
  };
  std::optional<Rows> rowsOf(const Node &, llvm::StringRef function);
  std::optional<size_t> rowAxis(const Node &, llvm::StringRef function, const Value &);
  /// `taker` is the construct that takes the condition, for messages.
  std::optional<Value> predicate(const Node &, const Value &tensor, llvm::StringRef taker = "'where'");
  Value evaluateAmong(const Node &, const Value &tensor);
  std::optional<Value> asPredicate(const Node &, Value evaluated, const Value &tensor, llvm::StringRef taker);
  bool neverHolds(const subscript::Expr &, llvm::ArrayRef<Naming>);
  bool expressIn(const Node &, const Value &predicate, const Value &tensor, const std::vector<Naming> &,
                 subscript::Expr &, llvm::StringRef taker = "'where'");
  bool placed(const Node &, const Value &predicate, const Value &tensor, const std::vector<Naming> &, subscript::Expr &,
              llvm::StringRef taker = "'where'");
  subscript::Domain rangesOf(llvm::ArrayRef<Naming>) const;
  subscript::Expr canonical(const subscript::Expr &condition, llvm::ArrayRef<Naming>) const;

  // TypeWhere.cpp: elements that are absent, or -inf.
  Value typeWhere(const Node &);
  bool refuseAbsent(llvm::StringRef place, const Value &, llvm::StringRef reader);
  bool refuseMixture(const Node &, llvm::StringRef op, const Value &absent);
  bool joinConditions(const Node &, llvm::StringRef op, Value &left, const Value &right);
  Value carried(Value result, const Value &operand) const;
  void moveConditions(Value &, const Value &operand, const subscript::Substitution &places) const;
  Value shown(const Node &, Value, Value *predicate = nullptr, Value *named = nullptr);
  Value written(const Node &, Value);
  Value lowestTensor(const Node &, const Value &real, const LowestSplit &);
  std::optional<subscript::Expr> conditionOf(const Node &, const RealPtr &, const Value &axes);

  // TypeConditional.cpp: `a if P else b`, select, and einsum(…, where = P).
  bool isOfNumbers(const Node &);
  Value typeConditional(const Node &, const Node &condition, const Node &yes, const Node &no);
  Value selectPositions(const Node &, const Value &condition, const Value &yes, const Value &no);
  Value selectTensors(const Node &, const subscript::Expr &condition, const Value &axes, Value yes, Value no);
  Value choose(const Node &, const Node &condition, const Value &predicate, Value yes, Value no);
  Dimensions inOrder(std::map<std::string, Axis> axes) const;
  bool extend(const Node &, const Node &condition, Value &, const std::map<std::string, Axis> &axes);
  Value guarded(const Node &, const Node &condition, const Value &tensor, const Value &predicate);
  Value constantWhere(const Node &, const Node &condition, double number, const Value &predicate, const Dimensions &);
  std::optional<std::vector<Naming>> ownNamings(const Value &tensor) const;
  std::optional<subscript::Expr> overOwnAxes(const subscript::Expr &holds, const Value &tensor) const;
  Value guardEinsum(Value einsum, const subscript::Expr &guard);
  Value onlyWhere(const Node &condition, const Value &einsum, const std::map<std::string, Axis> &axes,
                  llvm::ArrayRef<std::string> summed);

  // TypeIndexMaps.cpp, TypeRearrange.cpp
  Value move(const Node &, typed::Operation, const Value &, Dimensions);
  Value typeSkew(const Node &);
  Value typePad(const Node &);
  Value typeReshape(const Node &);
  std::optional<std::vector<std::pair<llvm::StringRef, Value>>> reshapedSizes(const Node &);
  Value typeGather(const Node &);
  bool gatherAxes(const Node &, int64_t rank, std::vector<Axis> &, int64_t &dimension);
  std::optional<subscript::Expr> gatherIndex(const Node &, const std::vector<Axis> &);
  std::optional<std::vector<int64_t>> gatheredRows(const Node &, const subscript::Expr &index,
                                                   const std::vector<Axis> &, int64_t rows);
  void joinPart(Value &whole, const Value &part, size_t along, int64_t start) const;
  Value typeConcat(const Node &);
  Value typeSlice(const Node &, Value base);
  std::optional<int64_t> placeIn(const Node &subscript, int64_t size, llvm::StringRef what);
  struct SliceRun {
    int64_t low, high, step; // low, low + step, … before high
  };
  std::optional<SliceRun> sliceRun(const Node &, int64_t size);
  struct Slicing;
  bool sliceNext(const Node &, Slicing &);
  Value typeRearrange(const Node &);
  std::optional<subscript::Einsum> parseRearrangement(const Node &, std::map<std::string, int64_t> &numbers);
  bool checkWholeAxes(const Node &, const subscript::Einsum &, llvm::StringRef text);
  std::optional<subscript::AxisSizes> rearrangedSizes(const subscript::Einsum &, llvm::StringRef text,
                                                      const Dimensions &, const subscript::AxisSizes &given);
  struct Rearrangement {
    std::vector<Naming> from, to;
    Dimensions result;
  };
  std::optional<Rearrangement> rearrangement(const subscript::Einsum &, llvm::StringRef text, const Dimensions &,
                                             const subscript::AxisSizes &all);
  Value elementAt(const Node &, const Value &tensor, size_t dimension, int64_t at);
  std::vector<Value> takenApart(const Node &, const Value &, size_t count);
  Value reshapeTo(const Node &, Value, Dimensions);
  Value rearrange(const Node &, Value, const std::vector<Naming> &from, const std::vector<Naming> &to, Dimensions);
  /// Evaluates an argument that is a tensor. If `movesElements`, some of its elements may be absent: the caller carries
  /// the conditions along.
  std::optional<Value> tensorArgument(const Node &call, size_t position, bool movesElements = false,
                                      bool readsPlaces = true);
  // Orders.cpp: operations that depend on the places of dimensions.
  bool requireOrder(llvm::StringRef place, const Value &, const std::string &who);
  Value arranged(const Node &, Value, llvm::ArrayRef<size_t> places);
  Value moved(const Node &, Value, size_t from, size_t to);
  std::optional<Value> arrangedBy(const Node &, Value, const subscript::Dimensions &text, const std::string &who);
  bool checkArguments(const Node &call, size_t minimum, size_t maximum, llvm::ArrayRef<llvm::StringRef> keywords,
                      llvm::StringRef usage);
  const Node *keyword(const Node &call, llvm::StringRef name) const;

  /// Adds a new tensor to the current kernel.
  typed::Tensor *append(const Node &, typed::Operation, llvm::ArrayRef<typed::Tensor *> operands, const Dimensions &,
                        typed::Element = typed::Element::F32);
  Value tensorValue(typed::Tensor *, Dimensions);

  Diagnostics &diagnostics;
  const Options &options;
  mlir::MLIRContext *context;
  typed::Kernel kernel; // the current one
  Scope globals;
  Scope *scope = nullptr; // of the kernel or the scheme
  const Axis *findAxis(const std::string &name) const;
  std::vector<std::string> runtimeSizes;
  std::vector<std::pair<std::string, int64_t>> lengths; // with their bounds
  const Program *program = nullptr;                     // the program of the file
  Resolver resolver;
  std::vector<const Program *> builtins;
  std::map<std::string, llvm::StringRef> textCalls; // of the current einsum: the functions in its index expressions
  std::set<const char *> warnedSums;                // places, because a scheme is inlined more than once
  std::vector<const Scheme *> openSchemes;          // the schemes whose bodies are being evaluated, the outermost first
  unsigned schemeDepth = 0, evaluationDepth = 0;
  llvm::StringRef placeAtHand; // the place of the innermost expression that is being evaluated
  size_t factors = 0;          // the count of numbers that met a tensor, and of tables of numbers, so far
  bool computing = false;      // typing a table of such numbers that the kernel computes
  bool spelling = false;       // the kernel also computes the whole numbers in the current number
  // The number of enclosing choices between numbers that do not take the value that is being evaluated.
  unsigned untaken = 0;
  unsigned tabulating = 0;     // open calls of tabulate, in which lists of numbers are functions

  // The sizes of axes that the statements of the current kernel determine. A second typer (`isScouting`) that reports
  // nothing finds them on the first request.
  const Kernel *kernelAtHand = nullptr;
  std::vector<const Node *> callPath;
  bool isScouting = false;
  std::map<const Node *, Dimensions> expected; // expressions that have the shape of a result
  AxisFacts *facts = nullptr; // only of a scouting typer
  const AxisFacts *knownFacts = nullptr;
  std::optional<AxisFacts> scouted;
  // A dimension that a bare axis reads, and the result, determine axes that nothing else determines.
  bool readsTell = false;
  // With the calls that lead there.
  std::set<std::pair<const Node *, std::vector<const Node *>>> scoutedParts;
};

} // namespace skewer::language
