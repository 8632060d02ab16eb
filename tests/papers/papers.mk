# What the papers measured, measured again: docs/papers.md.
#
# make papers           on a machine with a GPU, nvcc, PyTorch and e3nn: all tables of that page, beside the libraries that are in
#                       PAPERS_PARTS (tests/papers/run.sh fetch; default build/papers/parts, none: only cgtpgen and e3nn) or are
#                       installed; build/papers has papers.tsv, stability.tsv, tables.md and roofline.svg.
#                       PAPERS="roofline table5/flashtp_table5_lmax3": tables, or layers of them, of tests/papers/rows.py
# make papers-sparsity  the table of sparsity, without a GPU

PAPERS_PARTS ?= $(BUILD)/papers/parts
.PHONY: papers papers-sparsity
papers: $(BUILD)/cgtpgen
	$(Q)CGTPGEN='$(abspath $(BUILD)/cgtpgen)' PYTHON=$(call quoted,$(PYTHON)) \
	    tests/papers/run.sh run '$(PAPERS_PARTS)' '$(BUILD)/papers' $(PAPERS)
	$(Q)$(call quoted,$(PYTHON)) tests/papers/page.py tables $(BUILD)/papers/*.tsv > $(BUILD)/papers/tables.md
	$(Q)! grep -qs '^# .*copy' $(BUILD)/papers/papers.tsv || \
	    $(call quoted,$(PYTHON)) tests/papers/page.py roofline $(BUILD)/papers/papers.tsv > $(BUILD)/papers/roofline.svg
papers-sparsity: $(BUILD)/cgtpgen
	$(Q)CGTPGEN='$(abspath $(BUILD)/cgtpgen)' $(call quoted,$(PYTHON)) tests/papers/sparsity.py
