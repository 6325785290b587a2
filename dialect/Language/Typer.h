// From the syntax tree to typed tensors (Typed.h): the rules of the language, and all of its errors but those that need
// the finished function (Emission.h). Whatever an expression is made of is decided here; no operation of MLIR is made.
// The context serves to look up the functions that plugins bring.
#pragma once
#include "dialect/IR/ElementFunction.h"
#include "dialect/Language/Ast.h"
#include "dialect/Language/Diagnostics.h"
#include "dialect/Language/Language.h"
#include "dialect/Language/Resolver.h"
#include "dialect/Language/Typed.h"
#include "dialect/Subscript/Checks.h"

namespace skewer::language {

/// An axis that is a part of a longer one: position `axis + origin` of `length`.
struct Part {
  subscript::Expr origin;
  int64_t extent = 0, length = 0;
};

/// The names that a piece of text sees. `axes` are positions that einsums, or a scheme's operands, have named, in
/// order.
struct Scope {
  std::map<std::string, Value> values;
  std::map<std::string, llvm::StringRef> declared; // where, for notes and unused warnings
  std::set<std::string> used;
  std::vector<Axis> axes;
  std::map<std::string, Part> parts;    // by axis
  std::set<std::string> unknown;        // names of which an error has said that they are not known
  const Scope *caller = nullptr;        // of a scheme: what it does not see
  std::set<std::string> among;          // axes of the tensor that a condition is about
  std::map<std::string, Clash> clashes; // of the tensor before `where`
  bool isBuiltin = false;               // a built-in scheme, which sees nothing of the file

  std::map<std::string, std::vector<Axis>> sizes;     // every size that an axis has in this piece of text
  std::map<std::string, llvm::StringRef> reliances;   // where one size of an axis was taken for the only one
  std::set<std::string> ownAxes;                      // of a condition or a table, whatever is around it
  std::set<std::string> inherited;                    // of a scheme: axes of its caller
  const Axis *axis(const std::string &name) const;
  /// An axis that the text names; whether it is a new one, or has a new size. One that is summed over is no position
  /// behind its sum.
  bool learn(const Axis &, bool isPosition = true);
  /// The scope of an expression that has axes of its own, and what it leaves behind.
  Scope withAxes(llvm::ArrayRef<Axis> own) const;
  void returnFrom(const Scope &inner);
};

/// The sizes of axes that statements tell, of a kernel and of the schemes that it calls.
struct AxisFacts {
  std::map<std::vector<const Node *>, std::map<std::string, std::vector<Axis>>> found; // by the calls that lead there
};

class Typer {
public:
  Typer(Diagnostics &, const Options &, mlir::MLIRContext *);
  /// Built-in schemes count only where `program` has none of the name.
  void addBuiltins(const Program &builtin);
  /// Calls `finished` with each kernel as it is typed, until there is an error.
  void type(const Program &, llvm::function_ref<void(const typed::Kernel &)> finished);
  /// Whether a name is that of a whole number known at compile time, for all of the file.
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

  // Evaluate.cpp: expressions without tensors, and the way to the others.
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

  // RecordDecisions.cpp: what is decided by numbers, for who asks.
  void record(Decision);
  Value decided(const Node &, Value number, RealPtr made = nullptr);
  bool decided(const Node &, bool truth, RealPtr made);
  bool decidedWhole(const Node &, bool isWhole, RealPtr remainder);
  void decidedTable(const Node &, std::vector<double> values, const RealForms &, bool isTensor = false);
  subscript::Expr simplified(const subscript::Expr &, const subscript::Domain &) const;

  llvm::StringRef wholeText() const;
  std::vector<std::string> visibleNames() const;

  // Complaints.cpp: errors that say what may have been meant.
  Value unknownName(const Node &);
  Value unknownCall(const Node &, const std::vector<std::string> &names);
  Value notAnOperand(llvm::StringRef place, const std::string &who, const Value &);
  bool isPartOfAxis(const std::string &name) const;
  bool noteOnAxis(const std::string &name);
  bool isAfterSlashes(llvm::StringRef place) const;
  const Value *lookup(const std::string &name);
  Value elementOf(const Node &, const Value &list);

  // Names.cpp: what a name stands for where it could be several things.
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
  /// What a function of one argument is called, of tensors too; empty where the kind is none.
  static llvm::StringRef elementwiseName(RealKind);

  // TypeApplied.cpp: functions of single numbers, those that plugins bring among them.
  Value typeApplied(const Node &, const attn::ElementFunction &);
  Value applied(const Node &, const attn::ElementFunction &, std::vector<Value> arguments);

  // TypeComparison.cpp: conditions on values.
  static bool isConditionOnValues(const Value &);
  Value compare(const Node &, llvm::StringRef op, Value left, Value right);
  Value joinTruths(const Node &, llvm::StringRef op, Value left, Value right);
  Value chooseByValues(const Node &, const Node &place, const Value &condition, Value yes, Value no);

  // Numbers.cpp: what whole numbers and positions may be.
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
  // TypeRanges.cpp: the ends of their ranges.
  Value typeEndOfRange(const Node &);
  std::optional<int64_t> endOfRange(const Node &);
  bool isAlikeAtAllLengths(const subscript::Expr &);
  Value readIndex(llvm::StringRef place, const Value &operand, llvm::ArrayRef<subscript::Expr> subscripts,
                  const std::map<std::string, Axis> &axes);
  void sizesOfReads(const subscript::Einsum &, std::map<std::string, Axis> &axes);

  // TypeScheme.cpp, SchemeAxes.cpp: inlining, and the axes that a scheme and its caller know by different names.
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
  bool adoptSizes(const Node &, const subscript::Einsum &, llvm::StringRef text, llvm::ArrayRef<std::vector<int64_t>> shapes,
                  llvm::ArrayRef<std::string> written, subscript::AxisSizes &given);
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

  // AxisSizes.cpp: axes whose size their own statement does not tell.
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
  // ResultSizes.cpp: what the type of a result says.
  void expect(const Node &, const std::vector<Statement> &body, const Dimensions &);
  void expectResults(const Kernel &);
  void expectOfScheme(const Node &call, const Scheme &);
  std::optional<Axis> expectedAxis(const Node &einsum, const subscript::Einsum &, const std::string &name) const;

  void inheritAxis(const std::string &name, Scope &own);
  void returnAxes(llvm::StringRef call, const Scope &own);

  // TypeSum.cpp: sum(x, axis), mean(x, axis), and sums in an einsum that may be slips of the pen.
  struct AlongAxes {
    Value operand;
    std::vector<std::optional<size_t>> naming; // of each dimension the one that has some of the axes
    std::vector<bool> whole;                   // dimensions chosen by their place
    std::set<std::string> names;               // axes chosen by name
  };
  std::optional<AlongAxes> alongAxes(const Node &, llvm::StringRef usage, llvm::StringRef done);
  struct WithoutAxes {
    subscript::Einsum spec;
    subscript::AxisSizes given, all;
    Dimensions kept;
    double count = 1; // of elements along the axes whose sizes are known
    bool isStatic = true;
  };
  WithoutAxes withoutAxes(const AlongAxes &);
  Value sumAlong(const Node &, const AlongAxes &, WithoutAxes, const Value &tensor);
  Value typeSum(const Node &);
  Value typeMean(const Node &);
  std::optional<std::set<std::string>> meantSums(const Node &, const subscript::Einsum &, llvm::StringRef text);
  void warnOfLoneSums(const subscript::Einsum &, llvm::StringRef text, const subscript::AxisSizes &,
                      const std::set<std::string> &meant);

  // TypeReductions.cpp: what else runs along axes: max(x, axis = j), cumsum(x, j).
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

  // TypeNumbers.cpp: numbers beside tensors, which lengths may decide when the kernel runs.
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
    size_t axis = 0; // the dimension that they run along; the last one of `tensor`
    std::vector<Naming> names;
    std::optional<subscript::Expr> mask;
  };
  std::optional<Rows> rowsOf(const Node &, llvm::StringRef function);
  std::optional<size_t> rowAxis(const Node &, llvm::StringRef function, const Value &);
  /// `taker` is what takes the condition, for messages.
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
  /// Where `movesElements`, absent elements may be among them: the conditions are carried along.
  std::optional<Value> tensorArgument(const Node &call, size_t position, bool movesElements = false,
                                      bool readsPlaces = true);
  // Orders.cpp: what looks at the places of dimensions.
  bool requireOrder(llvm::StringRef place, const Value &, const std::string &who);
  Value arranged(const Node &, Value, llvm::ArrayRef<size_t> places);
  Value moved(const Node &, Value, size_t from, size_t to);
  std::optional<Value> arrangedBy(const Node &, Value, const subscript::Dimensions &text, const std::string &who);
  bool checkArguments(const Node &call, size_t minimum, size_t maximum, llvm::ArrayRef<llvm::StringRef> keywords,
                      llvm::StringRef usage);
  const Node *keyword(const Node &call, llvm::StringRef name) const;

  /// A new tensor of the kernel at hand.
  typed::Tensor *append(const Node &, typed::Operation, llvm::ArrayRef<typed::Tensor *> operands, const Dimensions &,
                        typed::Element = typed::Element::F32);
  Value tensorValue(typed::Tensor *, Dimensions);

  Diagnostics &diagnostics;
  const Options &options;
  mlir::MLIRContext *context;
  typed::Kernel kernel; // the one at hand
  Scope globals;
  Scope *scope = nullptr; // the kernel's or the scheme's
  const Axis *findAxis(const std::string &name) const;
  std::vector<std::string> runtimeSizes;
  std::vector<std::pair<std::string, int64_t>> lengths; // and their bounds
  const Program *program = nullptr;                     // of the file
  Resolver resolver;
  std::vector<const Program *> builtins;
  std::map<std::string, llvm::StringRef> textCalls; // of the einsum at hand: functions in its index expressions
  std::set<const char *> warnedSums;                // places: a scheme is inlined more than once
  std::vector<const Scheme *> openSchemes;          // whose bodies are being evaluated, the outermost first
  unsigned schemeDepth = 0, evaluationDepth = 0;
  llvm::StringRef placeAtHand; // of the innermost expression that is being evaluated
  size_t factors = 0;          // numbers that have met a tensor, and tables of numbers, so far
  bool computing = false;      // a table of such numbers, when the kernel runs
  bool spelling = false;       // of the number at hand also whole numbers are computed when the kernel runs
  unsigned untaken = 0;        // choices of numbers that are open, of which another value is taken
  unsigned tabulating = 0;     // calls of tabulate that are open: lists of numbers are functions there

  // What the statements of the kernel at hand tell of axes: found by a typer that only looks, when it is asked for.
  const Kernel *kernelAtHand = nullptr;
  std::vector<const Node *> callPath;
  bool isScouting = false;
  std::map<const Node *, Dimensions> expected; // expressions that have the shape of a result
  AxisFacts *facts = nullptr; // of who only looks
  const AxisFacts *knownFacts = nullptr;
  std::optional<AxisFacts> scouted;
  bool readsTell = false; // a dimension that a bare axis reads, and the result, tell axes that nothing else tells
  std::set<std::pair<const Node *, std::vector<const Node *>>> scoutedParts; // with the calls that lead there
};

} // namespace skewer::language
