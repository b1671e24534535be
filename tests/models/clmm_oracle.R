# Graded verdicts of judges with a random intercept by ordinal::clmm (2022.11-16), for tests/models/test_graded_population.py,
# which writes the table of drawn verdicts where it is asked to (table_for_clmm).
# Rscript tests/models/clmm_oracle.R TABLE tests/models/clmm_oracle.json
library(ordinal)
args <- commandArgs(TRUE)
d <- read.csv(args[1])
d$y <- factor(d$y, ordered = TRUE)
m <- clmm(y ~ x2 + x3 + x4 + (1 | judge), data = d, threshold = "symmetric", nAGQ = 11, control = clmm.control(gradTol = 1e-8))
b <- coef(m)
number <- function(x) formatC(x, digits = 12, format = "g")
lines <- c(
  '"loglik": ', number(as.numeric(logLik(m))),
  ', "position": ', number(-(b[1] + b[2]) / 2),
  ', "threshold1": ', number((b[2] - b[1]) / 2),
  ', "threshold2": ', number((b[2] - b[1]) / 2 + b[3]),
  ', "sd": ', number(sqrt(as.numeric(VarCorr(m)$judge))),
  ', "gaps": [', paste(number(b[4:6]), collapse = ", "), "]",
  ', "gap_errors": [', paste(number(summary(m)$coefficients[4:6, 2]), collapse = ", "), "]"
)
writeLines(paste0("{", paste(lines, collapse = ""), "}"), args[2])
