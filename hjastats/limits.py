"""Every size that decides how something is computed, whether it is computed, or how much of it is shown.

A second way to compute the same thing stands here with the case of a user that it is worth 1.3 times to. Read a limit as
``limits.NAME`` where it decides, so that there is one place to change it, and one for tests to lower it.
"""

# Counting

# Possible (judge, item, item) triples up to which a table of all of them is counted into instead of sorting the rows: cells of
# 100,000 rows about 100 items 14 times as fast.
DENSE_COUNTS = 4_000_000
# Possible combinations of labels in an arrow table up to which the same is done: read_comparisons of 10,000 rows 4 times, of a
# million 8 times as fast.
DISTINCT_CODES = 10_000_000
# Rows beyond which columns of text are coded by several threads: read_comparisons of 100,000 rows 1.3 times as fast on two cores.
LONG_COLUMN = 30_000
# Items up to which a table of all pairs tells sooner than a sparse graph whether they are linked: connectivity.is_connected of 20
# items 9 times, of 100 items 3.5 times as fast, a tenth of the time from 10,000 records to BTL scores.
DENSE_LINKS = 1500
# Items up to which a judge's margins are a table of all pairs: 12 times for 20 judges and 200 items.
DENSE_MARGINS = 200

# Weights of rows and of penalties: above, doubles no longer count by ones.
LARGEST_AMOUNT = 2.0**53

# Likelihood

# Points of a scale up to which outcomes at equal steps are grades, each with a threshold; beyond, they are soft preferences.
GRADES = 21
# Entries of the judges' Laplacians up to which they are made as matrices: 1.6 times on MT-Bench, 1.3 on 10 judges and 60 items.
DENSE_LAPLACIANS = 50_000
# Entries of a score matrix up to which it is decomposed whole instead of being reduced first: 1.26 times for HJA(1) on MT-Bench,
# kept below 1.3 because all else that was given up there adds up.
WHOLE_SCORES = 1000
# Items up to which a product with a basis that is at hand is quicker than reflections.
BASIS_ITEMS = 60

# Cells times nodes of judges whose effects are integrated out, in memory at the same time: pieces that stay in the cache.
NODES_AT_ONCE = 500_000
# Nodes of a judge up to which starts of Laplace's method climb with several nodes for each effect.
ROUGH_NODES = 100
# Squared coordinates of such a fit for every cell of a judge up to which each of its steps has an information of its own: 2.0
# times for rank 2 on 192 respondents of German parties. Beyond, informations cost more than likelihoods.
CHEAP_INFORMATION = 500
# Cells of a chunk of judges that a worker takes at a time, if there are more than one for each worker.
CELLS_IN_CHUNK = 200_000
# Draws of every judge with a taste of its own: cells times draws, and the fewest and the most.
TASTE_DRAWS_IN_ALL = 20_000_000
FEWEST_TASTE_DRAWS = 64
MOST_TASTE_DRAWS = 1024
# Cells beyond which such a fit has no random starts beside the one that looks for the next direction.
RANDOM_STARTS_CELLS = 100_000
# Judges below which a sample says little about how judges differ.
SMALL_SAMPLE = 20
# Nodes of a judge beyond which a quadrature is refused.
MOST_NODES = 20_000

# Maximisation

# Entries of the judges' Laplacians up to which starting values solve them as dense matrices: 3.0 times for HJA(1) of the
# embedded panel. Sparse ones by conjugate gradients: 1.4 times for HJA(1) of 10 judges and 400 items.
DENSE_START = 500_000
# Coordinates of the items up to which judges and items are fitted in turn before the likelihood is maximised: 1.5 times for HJA(2)
# on MT-Bench. Without it beyond: 2.4 times for HJA(1) of 10 judges and 200 items.
ALTERNATED = 200
# Cells of all the starts that are added to be sure, in memory at the same time.
SCREENED_CELLS = 1_000_000
# Effort of the search. Random starts beside those asked for, of which only those that end apart are run; starts added where the
# likelihood surface is rough; starts far out; and how many of the last two there are at least where cells are many.
SCREENED = 3
SCATTERED = 14
BREAKAWAYS = 50
FEWEST = 4
# Times that judges and items are fitted in turn, and Newton steps of Bradley-Terry-Luce: most data need three or four.
MOST_PASSES = 16
PLAIN_STEPS = 20
# Free parameters beyond which a run costs so much that only the two most promising starts are run.
MANY_STARTS_FREE = 2000
# Items beyond which judges with scores of their own are fitted by products with sparse Laplacians: 12 times for 10 judges and 120
# items. By blocks up to there: 1.9 times for 10 judges and 50 items.
DENSE_OWN_ITEMS = 100
# Coordinates shared by the judges beyond which their information is not made into a matrix to be factorised at every step: 2.1
# times for HJA(1) of 10 judges and 400 items. As a matrix up to there: 1.6 times for HJA(1) on MT-Bench and on Chatbot Arena.
DENSE_SHARED = 500
# Products with the information after which a solution is good enough whatever it is.
MOST_PRODUCTS = 1000
# Free coordinates beyond which directions without information are not looked for one by one: 60 times for five grades of 1,929
# respondents, each with thresholds of its own.
MANY_FREE = 2000

# Iterations and grids

# Halvings of a step before a search gives up.
HALVINGS = 30
# The same where a step must be followed back to equations, in so many returns; a way back that exists nearly always takes six
# at the most, and each halving of a step multiplies with these. Along a profile each halving is a fit.
RETURN_HALVINGS = 10
RETURNS = 12
PROFILE_HALVINGS = 12
# Steps outwards along a profile, and last steps of a search whose slopes are drawn.
PROFILE_STEPS = 60
DRAWN_STEPS = 60
# Newton steps to the modes of judges' effects, which always lead upwards: from anywhere they take a few, from very far hundreds.
MODE_STEPS = 2000
# Nodes over the one linear form of a verdict, and rounds over all verdicts of a judge, of expectation propagation.
SITE_NODES = 21
SITE_ROUNDS = 200
# Spreads of the items that are tried for the chances of places, draws that tell how far a foretold error may be off, and parts in
# which many verdicts are planned.
TRIED_SPREADS = 400
FORETOLD_DRAWS = 30
PARTS_OF_A_PLAN = 400

# Inference

# Parameters whose covariance is made into a matrix, as large as memory allows; beyond, quantities are solved for one by one.
LARGEST_MATRIX = 12_000
# Quantities that are solved for by themselves, of panels that large: a few minutes.
MOST_SOLUTIONS = 1000
# Quantities that take as long to solve for one by one as the factors of a thousand shared coordinates take; of more coordinates the
# number grows with their square. One contrast among 1,500 items and 20 judges is 2.5 times as fast by itself.
AS_LONG_AS_FACTORS = 2.0
# Products with the information after which such a solution is given up.
SOLUTION_PRODUCTS = 1000
# Free coordinates up to which a panel that looks undetermined from products alone is looked at as a matrix.
SECOND_LOOK = 3000
# Free coordinates beyond which a robust covariance of all of them takes longer than the quantities anybody asks for; below, it is
# 2.5 times as fast for 20 judges, 200 items and 100,000 rows.
LARGEST_SANDWICH = 6000
# Quantities whose variances are computed at a time, and entries of any other table that are held at a time.
BLOCK = 500
ENTRIES_AT_ONCE = 20_000_000
# Items of which all pairs are compared.
MOST_COMPARED = 3000
# Draws of the largest difference: their Monte-Carlo error at the 5% point is 0.0007 in probability. Numbers held at once stay in
# the cache; differences drawn in all leave 11,000 draws for 300 items and 2,000 for 700 or more.
DRAWS = 100_000
DRAWS_AT_ONCE = 200_000
DRAWN_DIFFERENCES = 1e9

# Draws of the places: chances have a Monte-Carlo error of at most 0.0035.
PLACE_DRAWS = 20_000

# Comparisons chosen between two looks at all that could be asked for, and how many of these are followed exactly in between:
# 1,000 of 100 judges and 200 items in 2 s for a contrast, in 5 s for the places of all items.
ASKED_AT_A_LOOK = 50
FOLLOWED = 1000

# Questions, of judges who are a sample, that are looked at: 1,000 of 400 judges and 20 items in some seconds.
CANDIDATES = 200_000

# Free parameters beyond which errors after a plan are foretold at the estimates alone, not at draws of them: 30 informations.
REDRAWN_FREE = 500

# Clusters below which cluster-robust standard errors are said to be too small.
FEW_CLUSTERS = 20
# Prompts below which those of a sample, which count judges as well, do not count them: 8 prompts covered 0.90, judges alone 0.67.
FEWEST_PROMPTS = 8
# Clusters of a judge below which those of its own parameters are: in 5 of 100 clusters they covered 0.92, in 10 of them 0.94.
FEW_OF_A_JUDGE = 10
# Groups that are ranked side by side, those of a time that is cut without being asked, and those that are printed.
MOST_GROUPS = 100
FEW_PERIODS = 24
PRINTED_GROUPS = 12
# Items, judges and groups that a sentence about changes names.
NAMED_MOVERS = 5
# Letters of the name of an item beside its places.
ITEM_LETTERS = 24
# Comparisons up to which rows that stand for several are taken apart, so that tests over groups know them to be independent.
REPEATED_ROWS = 1_000_000
# Newton steps to a group's own scores, turns of the boards that borrow strength, and values of the heterogeneity.
BOARD_STEPS = 50
BOARD_TURNS = 10
HETEROGENEITY_GRID = 160
# Verdicts for every free parameter of a group from which its own estimate is near enough to normal to be combined with others; with
# fewer, its likelihood is taken at the board that all groups agree on.
OWN_PER_PARAMETER = 10
# Clusters of a group from which its dispersion is its own; with fewer it is that of all groups.
OWN_DISPERSION = 20
# Parameters of a kind in all groups up to which they are tested together: the covariance of 2,000 takes a second.
STACKED = 2000
# Parameters of other kinds that every group has for itself where it is tested whether something else differs.
FREED = 1000
# Verdicts of a judge in a group, for every direction of its taste, from which a change there is tested.
TASTE_PER_DIRECTION = 3
# Scores and terms of judges, each with its own, up to which their tastes are tested; of more, those with the most verdicts.
TASTE_COORDINATES = 1000
# Scores of all groups up to which covariances between groups that share prompts are counted in shrunken boards.
JOINT_SCORES = 1200
# Clusters beyond which independent ones are put together for tests over groups, and draws of their signs: a p-value of 5% has a
# Monte-Carlo error of 0.5%.
SIGNED_CLUSTERS = 2000
SIGNS = 1999
# Times as many draws of a statistic that fewer of these attain, where so many tests are adjusted for that nothing would be left, or
# that one draw more or less would decide.
MORE_SIGNS, FEW_AS_LARGE = 20, 5
# Characters of a name of an item: longer texts are answers. Characters and levels of parentheses of a contrast string.
LONGEST_NAME = 200
# Rows of a sheet among which the first that is not empty holds the names of the columns.
ROWS_ABOVE = 20
CONTRAST_LENGTH = 20_000
CONTRAST_DEPTH = 60
# Numbers in the gradients of the groups of a contrast string.
CONTRAST_NUMBERS = 50_000_000

# Choices that are made for a user

# Verdicts of a judge below which it has no parameters of its own by default: three for each of sensitivity, position and ties leave
# too few surprises to tell them from chance.
LIGHT_JUDGE = 30
# Rows beyond which light judges are pooled by default, and not a sample, whose choice would take minutes; and directions of a
# sample that are tried, since each multiplies the nodes of the quadrature.
SAMPLED_ROWS = 100_000
# The same of graded rows: 18,992 of 1,929 respondents (GLES) were not done in five minutes.
SAMPLED_GRADED_ROWS = 1_000
SAMPLE_DIRECTIONS = 2
# Seconds of work before a progress bar shows.
SILENT_SECONDS = 2.0

# Diagnostics and what is shown

# Shared verdicts below which two judges cannot be told to be copies, and verdicts on an item in each half below which it cannot be
# told to change.
FEW_SHARED = 10
# Verdicts on pairs judged before, below which a judge's fit is not tested: with 30 verdicts on 8 items, 14% of panels of 8 judges
# would have one who seems to vary too little. For every score of a ranking of its own, below which circles are not looked for: with
# 80 verdicts, 0.5% of judges would go round at a level of 0.3%.
FEW_REPEATED = 30
FEW_PER_SCORE = 10
# Replications with a generator each, beyond which a number is a slip of the hand.
MOST_REPLICATIONS = 1_000_000
# Draws below which the tails of infit and outfit cannot be seen.
FEWEST_DRAWS = 100
# Newton steps that find a judge's best multiple of a direction.
SENSITIVITY_STEPS = 12
# Leaves beyond which their optimal order, which takes the cube of their number, is not looked for.
ORDERED_LEAVES = 500
# Entries of the Laplacians of judges whose own rankings are looked for.
OWN_LAPLACIANS = 2_000_000
# Free parameters, or judges, up to which a summary tests goodness of fit, stability and scales, and pairs times squared items of
# the first: below, it takes less than a second.
TESTED_PARAMETERS = 1000
TESTED_PAIRS = 1_000_000_000
# Judges up to which one of a panel is exchanged for two others, too: some thousand panels at a time.
EXCHANGED_JUDGES = 30
# Judges of which every two are compared.
COMPARED_JUDGES = 500
# Items whose information about the consensus still fits in memory several times.
INVERTED_ITEMS = 10_000
# Items that are ranked when there are too many to rank all.
RANKED_OF_MANY = 100
# Judges and items that are printed, and labels of a group; items or judges that a figure has room for.
PRINTED_JUDGES = 60
PRINTED_ITEMS = 60
PRINTED_LABELS = 20
FIGURE_ROWS = 60

# Items of which a page holds the errors of all pairs to compare any two, pairs that it lists for download, rows of its tables, and
# numbers it holds of the judges' own scores: together less than a megabyte.
PAGE_ITEMS = 300
PAGE_PAIRS = 2000
PAGE_ROWS = 300
PAGE_NUMBERS = 60_000

# Items whose distance to the leader is looked at row by row: each takes a product with all rows.
CHALLENGERS = 10

# Anchoring

# Values of slopes and departure that anchored scores are averaged over, and the work in cubes of the number of contrasts beyond
# which there are fewer: 512 of 20 items take a twentieth of a second.
ANCHOR_DRAWS = 512
ANCHOR_WORK = 4_000_000_000

# Cuts that the p-value of their largest statistic is worked out for one after the other (0.2 s). Of more it is worked out at once,
# which for few is off by a fifth.
FEW_CUTS = 20
# Polynomials, and radii of a few cuts, that its distribution is worked out with: p-values to seven digits.
BRIDGE_POLYNOMIALS, BRIDGE_RADII = 40, 80
# Labels of one trait that judges are parted by in all ways: 2,047 of them.
PARTED_LABELS = 12

# Random effects

# Sweeps over all verdicts until their integral has settled; ten are usual.
SWEEPS = 200
