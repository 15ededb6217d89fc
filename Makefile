# Two promises: on a machine with a Rust toolchain, `make run` does all the set-up and the main job,
# and `make test` does all the set-up and passes.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
CARGO ?= cargo
TRUEPUT := target/release/trueput
ALLOCATORS := libjemalloc2 libtcmalloc-minimal4 libmimalloc2.0

TIMED := scripts/timed
# Builds the tests with the lints: one build instead of two, and no dependency compiled twice.
LINTED := RUSTC_WORKSPACE_WRAPPER=$(CURDIR)/scripts/rustc-with-lints
# Most tests wait: for a disk, for a server, for an engine that sleeps as it closes.
export RUST_TEST_THREADS ?= $(shell echo $$(( 2 * $$(nproc) )))

.PHONY: help run test check browser lint bench build dist package setup doc clean allocators fuse file-systems network ssh slurm numa-guest engines engines-all tools-here

help: ## List what can be made.
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "  make %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

run: build tools-here ## Build, get more engines where that is allowed, run the plan first-look, print its tables, write its page.
	@$(call install_engines,$(TRUEPUT))
	$(TRUEPUT) run plans/first-look.toml

test: setup tools-here ## Check the formatting and the lints, then run every test, on every engine that is here.
	@$(TIMED) formatting $(CARGO) fmt --all --check
	@$(LINTED) $(TIMED) "lints, and building the tests" $(CARGO) test --workspace --locked --no-run
	@$(call install_engines,target/debug/trueput)
	@$(LINTED) $(TIMED) tests scripts/summarized-tests $(CARGO) test --workspace --locked --no-fail-fast

check: setup ## The quick part of 'make test': formatting, lints, and the tests that are not marked as slow.
	@$(TIMED) formatting $(CARGO) fmt --all --check
	@$(LINTED) $(TIMED) "lints, and building the tests" $(CARGO) test --workspace --locked --no-run
	@$(LINTED) $(TIMED) "quick tests" $(CARGO) test --workspace --locked --tests

browser: ## Install Chromium, with which 'make test' looks at the report's page (100 MB; without it: skipped).
	@prefix=; [ "$$(id -u)" = 0 ] || prefix="sudo -n"; \
	$$prefix apt-get update -q >/dev/null && $$prefix apt-get install -qy --no-install-recommends chromium fonts-dejavu-core

# Installs packages of Debian or Ubuntu, where this user may: $(1) are the packages, $(2) says what they are.
define install_packages
prefix=; [ "$$(id -u)" = 0 ] || prefix="sudo -n"; \
install() { $$prefix apt-get install -qy --no-install-recommends $(1) >/dev/null; }; \
install 2>/dev/null || { $$prefix apt-get update -q >/dev/null && install; } || { \
  echo "$(2) could not be installed; on Debian or Ubuntu, as root: apt-get install $(1)" >&2; \
  exit 1; }
endef

allocators: ## Install the memory allocators that a plan can ask for, from Debian's or Ubuntu's packages.
	@$(call install_packages,$(ALLOCATORS),the allocators)

fuse: ## Install fuse3, with which audits without root mount their file system.
	@command -v fusermount3 >/dev/null || { $(call install_packages,fuse3,fuse3); }
	@[ -e /dev/fuse ] || echo "no /dev/fuse here: audits, and their tests, are skipped; 'modprobe fuse' loads it" >&2

file-systems: ## Install the tools that make ext4, xfs and btrfs, for trials and audits on a file system of their own.
	@command -v mkfs.ext4 >/dev/null && command -v mkfs.xfs >/dev/null && command -v mkfs.btrfs >/dev/null || \
	  { $(call install_packages,e2fsprogs xfsprogs btrfs-progs,the tools of file systems); }

network: ## Install iproute2, which makes the network of a cluster on this machine.
	@command -v ip >/dev/null || { $(call install_packages,iproute2,iproute2); }

ssh: ## Install ssh and its server, with which 'make test' makes hosts of its own for --hosts.
	@command -v ssh >/dev/null && [ -x /usr/sbin/sshd ] || { $(call install_packages,openssh-client openssh-server,ssh); }

slurm: ## Install Slurm and munge, with which 'make test' makes a cluster of its own for --launcher slurm.
	@command -v slurmctld >/dev/null && command -v munged >/dev/null || { $(call install_packages,slurm-wlm munge,Slurm); }

numa-guest: build ## Test NUMA policies in an emulated guest of four nodes (a minute; needs qemu).
	scripts/numa-guest $(TRUEPUT)

engines: build ## Install the engines that are quick to get: prebuilt libraries and packages (minutes).
	$(TRUEPUT) engines install quick

engines-all: build ## Install those, and the engines that must be compiled.
	$(TRUEPUT) engines install all

# Installs the quick engines with this build of the program: $(1). Without them everything goes on.
# 'make test' has only the debug build that comes with the tests.
define install_engines
$(1) engines install quick || \
  echo "going on without the engines that could not be installed; 'make engines' tries again"
endef

# The allocators, fuse3, mkfs, iproute2, ssh and Slurm, all quick to get, where this user may install them. Without them
# everything goes on: a plan leaves out what is not there, and a test says why it skips.
tools-here:
	@$(MAKE) --no-print-directory allocators || true
	@$(MAKE) --no-print-directory fuse || true
	@$(MAKE) --no-print-directory file-systems || true
	@$(MAKE) --no-print-directory network || true
	@$(MAKE) --no-print-directory ssh || true
	@$(MAKE) --no-print-directory slurm || true

lint: setup ## Formatting, lints, and the dependencies' licenses and sources.
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings
	@command -v cargo-deny >/dev/null || { echo "installing cargo-deny (some minutes)"; $(CARGO) install cargo-deny --locked; }
	$(CARGO) deny check bans licenses sources

bench: setup ## The harness's own cost: CPU per operation on the null engine, and the ratio to bare loops.
	$(CARGO) build --release --locked --package trueput --package trueput-bench-harness
	target/release/harness-cost

build: setup ## Build the program.
	$(CARGO) build --release --locked --package trueput

dist: setup ## Build for any Linux since glibc 2.17, and pack it: tarball, Debian package, wheel, npm package.
	scripts/dist $(PROCESSORS)

package: setup ## Package every crate, as for a registry, and build the packages.
	scripts/package

doc: setup ## The crates' documentation.
	$(CARGO) doc --workspace --no-deps --locked

clean: ## Remove what was built. Results stay.
	$(CARGO) clean

# What the build needs beside the Rust toolchain: a C compiler, for the engines that are compiled in.
setup:
	@command -v $(CARGO) >/dev/null || { \
	  echo "trueput needs a Rust toolchain: https://rustup.rs" >&2; exit 1; }
	@command -v cc >/dev/null && echo 'int main(void){return 0;}' | cc -x c -o /dev/null - 2>/dev/null || { \
	  if command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ]; then \
	    apt-get update -q && apt-get install -qy --no-install-recommends gcc libc6-dev; \
	  elif command -v apt-get >/dev/null && command -v sudo >/dev/null; then \
	    sudo apt-get update -q && sudo apt-get install -qy --no-install-recommends gcc libc6-dev; \
	  else \
	    echo "trueput needs a C compiler (cc) for LMDB and SQLite: install gcc or clang" >&2; exit 1; \
	  fi; }
