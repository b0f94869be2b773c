"""What functions device libraries have: for each name the types that it takes, the library's symbol, and what it gives.

Source: CUDA libdevice User's Guide; ROCm Device Libraries (OCML). A row is `arguments>result=symbol`; letters are
f fp32, d fp64, i int32, l int64, u uint32, v uint64.
"""

from naiad.language.types import dtype, float32, float64, int32, int64, uint32, uint64

Row = tuple[tuple[dtype, ...], str, dtype]

_LETTERS = {"f": float32, "d": float64, "i": int32, "l": int64, "u": uint32, "v": uint64}

_FLOATS: dict[int, str] = {  # number of arguments: names that exist as `name` for fp64 and `namef` for fp32
    1: "floor rsqrt ceil trunc exp2 sqrt rint nearbyint sin cos sinpi cospi tan log2 exp exp10 cosh sinh tanh atan "
    "asin acos log log10 log1p acosh asinh atanh expm1 cbrt rcbrt j0 j1 y0 y1 cyl_bessel_i0 cyl_bessel_i1 erf erfinv "
    "erfc erfcx erfcinv normcdfinv normcdf lgamma tgamma round logb",
    2: "copysign nextafter atan2 hypot rhypot fmod remainder fdim",
    3: "norm3d rnorm3d fma",
    4: "norm4d rnorm4d",
}
_ROUNDED = {"add": 2, "sub": 2, "mul": 2, "div": 2, "rcp": 1, "sqrt": 1}  # name_rn, _rz, _rd, _ru: fname and dname
_CONVERTED = {
    "double2float": "d>f",
    "double2int": "d>i",
    "double2uint": "d>i",
    "float2int": "f>i",
    "float2uint": "f>i",
    "int2float": "i>f",
    "uint2float": "u>f",
    "float2ll": "f>l",
    "float2ull": "f>l",
    "double2ll": "d>l",
    "double2ull": "d>l",
    "ll2float": "l>f",
    "ull2float": "v>f",
    "ll2double": "l>d",
    "ull2double": "v>d",
}
_FAST = "sinf cosf log2f logf expf tanf exp10f log10f"

_SINGLE = """
clz i>i=clz l>i=clzll
popc i>i=popc l>i=popcll
ffs i>i=ffs l>i=ffsll
brev i>i=brev l>l=brevll
byte_perm iii>i=byte_perm
mulhi ii>i=mulhi uu>u=umulhi ll>l=mul64hi vv>v=umul64hi
mul24 ii>i=mul24 uu>u=umul24
sad iiu>i=sad uuu>u=usad
hadd ii>i=hadd uu>u=uhadd
rhadd ii>i=rhadd uu>u=urhadd
abs i>i=abs l>l=llabs f>f=fabsf d>d=fabs
rcp64h d>d=rcp64h
saturatef f>f=saturatef
rsqrt_rn f>f=frsqrt_rn
fast_dividef ff>f=fast_fdividef
fast_powf ff>f=fast_powf
int2double_rn i>d=int2double_rn
uint2double_rn u>d=uint2double_rn
hiloint2double ii>d=hiloint2double
double2loint d>i=double2loint
double2hiint d>i=double2hiint
int_as_float i>f=int_as_float
float_as_int f>i=float_as_int
uint_as_float u>f=uint_as_float
float_as_uint f>i=float_as_uint
longlong_as_double l>d=longlong_as_double
double_as_longlong d>l=double_as_longlong
llrint f>l=llrintf d>l=llrint
llround f>l=llroundf d>l=llround
ilogb f>i=ilogbf d>i=ilogb
isnan f>i=isnanf d>i=isnand
isinf f>i=isinff d>i=isinfd
signbit f>i=signbitf d>i=signbitd
finitef f>i=finitef
isfinited d>i=isfinited
yn if>f=ynf id>d=yn
jn if>f=jnf id>d=jn
ldexp fi>f=ldexpf di>d=ldexp
scalbn fi>f=scalbnf di>d=scalbn
pow fi>f=powif di>d=powi ff>f=powf dd>d=pow
"""

_OCML: dict[int, str] = {  # number of arguments: names that exist as __ocml_name_f32 and _f64
    1: "floor rsqrt ceil trunc exp2 exp sqrt nearbyint sin cos tan log2 cosh sinh tanh atan asin acos log log10 log1p "
    "acosh asinh atanh expm1 j0 j1 y0 y1 erf erfinv erfc erfcx lgamma round",
    2: "copysign nextafter atan2 hypot fmod",
    3: "fma",
}
_OCML_SINGLE = """
isnan f>i=__ocml_isnan_f32 d>i=__ocml_isnan_f64
isinf f>i=__ocml_isinf_f32 d>i=__ocml_isinf_f64
signbit f>i=__ocml_signbit_f32 d>i=__ocml_signbit_f64
ilogb f>i=__ocml_ilogb_f32 d>i=__ocml_ilogb_f64
cyl_bessel_i0 f>f=__ocml_i0_f32 d>d=__ocml_i0_f64
cyl_bessel_i1 f>f=__ocml_i1_f32 d>d=__ocml_i1_f64
ldexp fi>f=__ocml_ldexp_f32 di>d=__ocml_ldexp_f64
pow fi>f=__ocml_pown_f32 di>d=__ocml_pown_f64 ff>f=__ocml_pow_f32 dd>d=__ocml_pow_f64
abs i>i=__triton_hip_iabs l>l=__triton_hip_iabs f>f=__triton_hip_fabs d>d=__triton_hip_fabs
llrint f>l=__triton_hip_llrint d>l=__triton_hip_llrint
fast_expf f>f=__triton_hip_fast_expf
fast_tanhf f>f=__triton_hip_fast_tanhf
fast_dividef ff>f=__triton_hip_fast_fdividef
"""


def _row(text: str, prefix: str) -> Row:
    types, symbol = text.split("=")
    arguments, result = types.split(">")
    return tuple(_LETTERS[letter] for letter in arguments), prefix + symbol, _LETTERS[result]


def _singles(text: str, prefix: str) -> dict[str, list[Row]]:
    lines = [line.split() for line in text.strip().splitlines()]
    return {name: [_row(row, prefix) for row in rows] for name, *rows in lines}


def _both(count: int, single: str, double: str) -> list[Row]:
    return [_row(f"{'f' * count}>f={single}", ""), _row(f"{'d' * count}>d={double}", "")]


def nvidia() -> dict[str, list[Row]]:
    """libdevice: symbols start with __nv_."""
    rows = _singles(_SINGLE, "__nv_")
    for count, names in _FLOATS.items():
        rows |= {name: _both(count, f"__nv_{name}f", f"__nv_{name}") for name in names.split()}
    for mode in ("rn", "rz", "rd", "ru"):
        for name, count in _ROUNDED.items():
            rows[f"{name}_{mode}"] = _both(count, f"__nv_f{name}_{mode}", f"__nv_d{name}_{mode}")
        rows[f"fma_{mode}"] = _both(3, f"__nv_fmaf_{mode}", f"__nv_fma_{mode}")
        for name, types in _CONVERTED.items():
            rows[f"{name}_{mode}"] = [_row(f"{types}={name}_{mode}", "__nv_")]
    return rows | {f"fast_{name}": [_row(f"f>f=fast_{name}", "__nv_")] for name in _FAST.split()}


def amd() -> dict[str, list[Row]]:
    """OCML: symbols start with __ocml_, or with __triton_hip_ where the compiler makes the function itself."""
    rows = _singles(_OCML_SINGLE, "")
    for count, names in _OCML.items():
        rows |= {name: _both(count, f"__ocml_{name}_f32", f"__ocml_{name}_f64") for name in names.split()}
    return rows
