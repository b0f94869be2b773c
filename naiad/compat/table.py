"""Which modules of naiad answer for each module of Triton."""

# Triton's module -> naiad's modules in which its names are looked up, in order.
FACADES: dict[str, tuple[str, ...]] = {
    "triton": ("naiad.compat.top", "naiad"),
    "triton.errors": ("naiad.errors",),
    "triton._utils": ("naiad.compat.helpers", "naiad.backends.signature"),
    "triton._internal_testing": ("naiad.compat.internal_testing",),
    "triton._C": (),
    "triton._C.libtriton": ("naiad.compat.libtriton",),
    "triton.testing": ("naiad.testing",),
    "triton.compiler": ("naiad.compiler", "naiad.compiler.compiler"),
    "triton.compiler.compiler": ("naiad.compiler.compiler", "naiad.runtime.cache", "naiad.compat.libtriton"),
    "triton.compiler.errors": ("naiad.errors",),
    "triton.compiler.code_generator": ("naiad.compiler.code_generator",),
    "triton.backends": ("naiad.backends",),
    "triton.backends.compiler": ("naiad.backends.base",),
    "triton.backends.driver": ("naiad.backends.driver",),
    "triton.backends.cpu": ("naiad.backends.cpu",),
    "triton.backends.cpu.compiler": ("naiad.backends.cpu.compiler",),
    "triton.backends.cpu.driver": ("naiad.backends.cpu.device",),
    "triton.runtime": ("naiad.runtime",),
    "triton.runtime.jit": ("naiad.runtime.jit", "naiad.runtime.constexpr_function", "naiad.runtime.preload",
                           "naiad.compat.libtriton", "naiad.compat.helpers", "naiad.runtime.dependencies"),
    "triton.runtime.autotuner": ("naiad.runtime.autotuner", "naiad.errors"),
    "triton.runtime.cache": ("naiad.runtime.cache",),
    "triton.runtime.driver": ("naiad.backends.driver",),
    "triton.runtime.errors": ("naiad.errors",),
    "triton.runtime.interpreter": ("naiad.runtime.interpreter",),
    "triton.runtime._allocation": ("naiad.runtime.allocation",),
    "triton.runtime._async_compile": ("naiad.runtime.async_compile",),
    "triton.tools": ("naiad.tools",),
    "triton.tools.tensor_descriptor": ("naiad.tools.tensor_descriptor",),
    "triton.tools.mxfp": ("naiad.tools.mxfp",),
    "triton.tools.compile": ("naiad.tools.compile",),
    "triton.tools.disasm": ("naiad.tools.disasm",),
    "triton.tools.link": ("naiad.tools.link",),
    "triton.tools.ragged_tma": ("naiad.tools.ragged_tma",),
}  # fmt: skip

# Triton's module is naiad's own: names that are set in one are set in the other, and everything below it follows.
ALIASES = {"triton.knobs": "naiad.knobs", "triton.language": "naiad.language"}

# Names of a package that are no modules, though a module of that name exists.
OBJECTS = {("triton.runtime", "driver"): ("naiad.backends.driver", "driver"),
           ("triton", "compile"): ("naiad.compiler.compiler", "compile")}  # fmt: skip

# Packages whose files are run by their path (`__path__[0]/compile.py`), and where these are.
SCRIPTS = {"triton.tools": "naiad.tools"}


def alias_of(name: str) -> str | None:
    """The module of naiad that the module `name` of Triton is; None where it is none."""
    for theirs, ours in ALIASES.items():
        if name == theirs or name.startswith(f"{theirs}."):
            return ours + name[len(theirs) :]
    return None


def is_package(name: str) -> bool:
    """Whether there are modules below this one."""
    return name in ("triton", "triton.language") or any(other.startswith(f"{name}.") for other in FACADES)
