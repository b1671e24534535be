# One start of gnm per line of the output: rank, seed, CPU seconds (best of three runs), log-likelihood. Called by judges.py.
suppressPackageStartupMessages(library(gnm))
arguments <- commandArgs(TRUE)
cells <- read.csv(arguments[1])
n_starts <- as.integer(arguments[2])
n_items <- max(cells$first, cells$second)

design <- function(cells) {
  X <- matrix(0, nrow(cells), n_items)
  X[cbind(seq_len(nrow(cells)), cells$first)] <- 1
  X[cbind(seq_len(nrow(cells)), cells$second)] <- -1
  X
}
# gnm 1.1 constrains every column that happens to sum to zero: turn cells round until none does.
while (any(zero <- colSums(design(cells)) == 0)) {
  row <- which(design(cells)[, which(zero)[1]] != 0)[1]
  cells[row, c("first", "second")] <- cells[row, c("second", "first")]
  cells$wins[row] <- cells$n[row] - cells$wins[row]
}
cells$judge <- factor(cells$judge)
cells$share <- cells$wins / cells$n
cells$Z <- design(cells)[, -n_items]

for (rank in 0:2) {
  formula <- list(share ~ -1 + Mult(judge, Z), share ~ -1 + instances(Mult(judge, Z), 2),
                  share ~ -1 + instances(Mult(judge, Z), 3))[[rank + 1]]
  for (seed in seq_len(n_starts)) {
    one <- function() {
      set.seed(seed)
      time <- system.time(fit <<- tryCatch(
        suppressWarnings(gnm(formula, weights = n, family = binomial, data = cells, verbose = FALSE, iterMax = 500)),
        error = function(e) NULL))
      time[["user.self"]] + time[["sys.self"]]
    }
    seconds <- min(replicate(3, one()))
    value <- NA
    if (!is.null(fit)) {
      eta <- predict(fit)
      value <- sum(cells$wins * eta - cells$n * (pmax(eta, 0) + log1p(exp(-abs(eta)))))
    }
    cat(rank, seed, seconds, format(value, digits = 12), "\n")
  }
}
