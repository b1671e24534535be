"""How a case ends, in a word: what is clear, what is right, and what comes from inside."""

import re
import warnings

import hjastats as hja

RIGHT, CLEAR, INSIDE, WRONG, HANG, CRASH = (
    "right",
    "clear error",
    "inside error",
    "silent wrong",
    "hang",
    "crash",
)
BAD = (INSIDE, WRONG, HANG, CRASH)
# What Python, or a model for its options, says of arguments that are not those of the signature.
SIGNATURE = re.compile(
    r"unexpected keyword argument|missing \d+ required|positional argument|got unknown arguments|use HJAModel"
    r"|multiple values|takes no option called"
)


class Wrong(Exception):
    """An answer that is known to be another one."""


def ended(case):
    """Word and error of one case: a function that raises Wrong where its answer is not the known one."""
    try:
        with warnings.catch_warnings():
            # What is said to users may be said; what numpy, pandas or Python say comes from inside.
            warnings.simplefilter("ignore")
            for category in (RuntimeWarning, FutureWarning, DeprecationWarning, SyntaxWarning):
                warnings.simplefilter("error", category)
            case()
    except Wrong as error:
        return WRONG, error
    except (hja.InputError, OSError) as error:
        return (CLEAR, None) if str(error) else (INSIDE, error)
    except NotImplementedError as error:
        return (CLEAR, None) if str(error).startswith("not available") else (INSIDE, error)
    except TypeError as error:
        return (CLEAR, None) if SIGNATURE.search(str(error)) else (INSIDE, error)
    except Exception as error:
        return INSIDE, error
    return RIGHT, None
