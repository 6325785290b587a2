# What a plugin may include, with what these headers include themselves (`house.plugin-headers`): they are installed, and
# their contents are part of a plugin's version.
set(SKEWER_PLUGIN_HEADERS
    dialect/Subscript/Analysis.h dialect/Subscript/Einsum.h dialect/Subscript/Expr.h dialect/IR/Attn.h
    dialect/IR/ElementFunction.h dialect/IR/Term.h passes/Analysis/ElementTerm.h passes/Analysis/AxisProducts.h passes/Analysis/AxisNames.h passes/Analysis/TermClass.h
    # What strategies are made of.
    passes/Cpu/TermStrategy.h passes/Analysis/TermForm.h passes/Analysis/AttentionShape.h passes/Analysis/Refusal.h passes/Analysis/BiasKind.h passes/Analysis/LengthMap.h passes/Analysis/LiveTiles.h
    passes/Analysis/RowTerm.h
    passes/Analysis/ValueTerm.h passes/Analysis/Walk.h passes/Analysis/Summation.h
    passes/Cpu/Strategy.h passes/Cpu/CpuKernel.h passes/Cpu/Geometry.h passes/Analysis/TileTables.h passes/Cpu/KeyRuns.h passes/Cpu/Layout.h passes/Cpu/LiveKeys.h
    passes/Cpu/Engine.h passes/Cpu/Positions.h passes/Cpu/RegisterTile.h passes/Cpu/AttentionStage.h passes/Cpu/KernelContext.h
    passes/Cpu/Blocks.h passes/Cpu/PackedTable.h passes/Cpu/PanelPacker.h passes/Cpu/RowScales.h passes/Cpu/ContentProducts.h passes/Cpu/BiasLines.h
    passes/Cpu/HiddenKeys.h passes/Cpu/ScoreTiles.h passes/Cpu/RowSoftmax.h passes/Cpu/HeadValues.h passes/Cpu/ValueSums.h
    passes/Cpu/StoredWeights.h passes/Cpu/StreamedResult.h passes/Cpu/ResultRows.h passes/Cpu/KeyParts.h passes/Cpu/UpcomingHead.h
    passes/Cpu/WorkItems.h passes/Cpu/PackedWeights.h
    passes/Schedule/CpuEngine.h passes/Schedule/Target.h
    passes/Emit/Buffer.h passes/Emit/EmitIndex.h passes/Emit/PhaseFunction.h passes/Emit/VectorBuilder.h
    dialect/IR/KernelPlan.h
    tools/plugins/Plugin.h)
set(SKEWER_PLUGIN_GENERATED_HEADERS
    dialect/IR/AttnDialect.h.inc dialect/IR/AttnInterfaces.h.inc dialect/IR/AttnAttrInterfaces.h.inc dialect/IR/AttnAttributes.h.inc
    dialect/IR/AttnOps.h.inc)
