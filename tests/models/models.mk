# Models of other packages with generated kernels: docs/models.md.
#
# make models           on the CPU against themselves: numbers, training, dynamics, trained ones (tests/models.t)
# make paired-models    a force step on one thread, before and after (tests/models/paired.py)
# make gpu-models       the same on a GPU, and times and memory beside e3nn, cuEquivariance and OpenEquivariance, drawn
#                       in build/models/models.svg
# make models-venv      the packages, some 5 GB, into build/models
#
# MODELS_PYTHON and MODELS_MACE name others. mace-torch needs an older e3nn than the others: it has a folder of its own.

MODELS := build/models
MODELS_PYTHON ?= $(if $(wildcard $(MODELS)/venv/bin/python),$(abspath $(MODELS))/venv/bin/python,$(PYTHON))
MODELS_MACE ?= $(if $(wildcard $(MODELS)/mace-site),$(abspath $(MODELS))/mace-site)
MODELS_RUN = CGTPGEN='$(abspath $(BUILD)/cgtpgen)' BUILD='$(BUILD)' MODELS_PYTHON=$(call quoted,$(MODELS_PYTHON)) \
    MODELS_MACE='$(MODELS_MACE)' TEST_MODELS=1
MODELS_BENCH = CGTPGEN='$(abspath $(BUILD)/cgtpgen)' MODELS='$(abspath $(MODELS))/bench' MODELS_MACE='$(MODELS_MACE)' \
    OEQ_JIT_EXTENSION=1
.PHONY: models paired-models gpu-models models-venv
models: $(BUILD)/cgtpgen
	$(Q)$(MODELS_RUN) prove -v -e '' tests/models.t
paired-models: $(BUILD)/cgtpgen
	$(Q)for model in nequip sevennet; do \
	    CGTPGEN='$(abspath $(BUILD)/cgtpgen)' taskset -c 0 $(call quoted,$(MODELS_PYTHON)) tests/models/paired.py $(MODELS)/paired $$model; done
	$(Q)CGTPGEN='$(abspath $(BUILD)/cgtpgen)' PYTHONPATH='$(MODELS_MACE)':"$$PYTHONPATH" \
	    taskset -c 0 $(call quoted,$(MODELS_PYTHON)) tests/models/paired.py $(MODELS)/paired mace
gpu-models: $(BUILD)/cgtpgen
	$(Q)$(MODELS_RUN) MODELS_DEVICE=cuda prove -v -e '' tests/models.t
	$(Q)$(MODELS_BENCH) $(call quoted,$(MODELS_PYTHON)) tests/models/bench.py build nequip
	$(Q)$(MODELS_BENCH) PYTHONPATH='$(MODELS_MACE)':"$$PYTHONPATH" $(call quoted,$(MODELS_PYTHON)) tests/models/bench.py build mace
	$(Q)$(MODELS_BENCH) $(call quoted,$(MODELS_PYTHON)) tests/models/bench.py run nequip mace $(MODELS)/bench.tsv
	$(Q)$(call quoted,$(MODELS_PYTHON)) tests/models/plot.py $(MODELS)/bench.tsv > $(MODELS)/models.svg
models-venv:
	$(Q)$(call quoted,$(PYTHON)) -m venv $(MODELS)/venv
	$(Q)$(MODELS)/venv/bin/pip install torch==2.15.0 'setuptools>=70.1' scikit-build-core e3nn==0.6.0 nequip==0.19.1 \
	    nequip-allegro==0.8.3 sevenn==0.13.0 torch-ema prettytable python-hostlist configargparse GitPython h5py orjson matplotlib \
	    $(if $(shell nvidia-smi -L 2> /dev/null),cuequivariance-torch==0.13.0 cuequivariance-ops-torch-cu13==0.13.0 \
	    platformdirs openequivariance==0.7.0)
	$(Q)$(MODELS)/venv/bin/pip install --no-deps --target $(MODELS)/mace-site mace-torch==0.3.16 e3nn==0.4.4
