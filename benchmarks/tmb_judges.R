# Seconds of processor time of R's TMB for judges as a sample: tape, nlminb from the start of tmb_cv.R, sdreport; compiled before.
# Rscript tmb_judges.R FOLDER_OF_BTRE.CPP TABLE REPETITIONS [CppAD|TMBad]; prints mode, seconds, log-likelihood.
suppressMessages(library(TMB))
given <- commandArgs(TRUE)
setwd(given[1])
if (!file.exists("btre.so")) compile("btre.cpp", framework = if (length(given) > 3) given[4] else "CppAD")
dyn.load("./btre.so")
d <- read.csv(given[2], stringsAsFactors = FALSE, na.strings = "@")
items <- sort(unique(c(d$first, d$second))); judges <- sort(unique(d$judge)); N <- length(items); K <- length(judges)
observed <- list(judge = match(d$judge, judges) - 1L, first = match(d$first, items) - 1L, second = match(d$second, items) - 1L,
                 y = d$y, w = rep(1, nrow(d)))
fit <- function(mode) {
  set.seed(1)
  par <- list(mu = rep(0, N - 1), ltau = -1, lsig = 0, L = matrix(rnorm(N - 1, 0, .7), N - 1, 1), z = rep(0, K), b = matrix(0, K, 1))
  map <- list(lsig = factor(NA))
  if (mode == 1) map <- c(map, list(L = factor(rep(NA, N - 1)), b = factor(rep(NA, K))))
  obj <- MakeADFun(c(observed, mode = mode), par, map = map, random = c("z", if (mode == 4) "b"), DLL = "btre", silent = TRUE)
  o <- nlminb(obj$par, obj$fn, obj$gr, control = list(eval.max = 1000, iter.max = 1000))
  list(loglike = -o$objective, report = sdreport(obj))
}
for (k in seq_len(as.integer(given[3]))) for (mode in c(1, 4)) {
  start <- proc.time(); found <- fit(mode); seconds <- sum((proc.time() - start)[1:2])
  cat(mode, seconds, sprintf("%.6f", found$loglike), "\n")
}
