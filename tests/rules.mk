# What the tests need besides units and scripts: the dense reference, drivers, generated products.

REFERENCE := $(patsubst %,$(BUILD)/obj/tests/%.o,reference reference_kernels reference_wigner golden_case)

$(BUILD)/obj/tests/%.o: tests/%.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(Q)$(COMPILE) -Iruntime -Itests -c -o $@ $<

$(BUILD)/tests/unit_reference: $(REFERENCE)

-include $(wildcard $(BUILD)/obj/tests/*.d)
