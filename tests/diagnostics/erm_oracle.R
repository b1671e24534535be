# Item and person fit of a Rasch model by eRm: infit and outfit mean squares of tests/diagnostics/test_misfit.py.
# Rscript tests/diagnostics/erm_oracle.R tests/diagnostics/erm_oracle.json
suppressMessages(library(eRm))
set.seed(3)
n_persons <- 40
n_items <- 6
ability <- rnorm(n_persons)
difficulty <- seq(-1.5, 1.5, length.out = n_items)
solved <- matrix(rbinom(n_persons * n_items, 1, plogis(outer(ability, difficulty, "-"))), n_persons)
# Persons who solve all or nothing have no finite ability.
solved <- solved[rowSums(solved) > 0 & rowSums(solved) < n_items, ]
model <- RM(solved)
persons <- person.parameter(model)
items <- itemfit(persons)
people <- personfit(persons)
row <- function(values) paste0("[", paste(formatC(values, digits = 15, format = "g"), collapse = ", "), "]")
lines <- c(
  '"solved": [', paste(apply(solved, 1, row), collapse = ",\n"), "],",
  '"ability":', row(persons$theta.table[, 1]), ",",
  '"easiness":', row(model$betapar), ",",
  '"item_infit":', row(items$i.infitMSQ), ",", '"item_outfit":', row(items$i.outfitMSQ), ",",
  '"person_infit":', row(people$p.infitMSQ), ",", '"person_outfit":', row(people$p.outfitMSQ)
)
writeLines(c("{", lines, "}"), commandArgs(TRUE)[1])
