-- Rank-biased precision: the sum of (1 - p) p^(r - 1) over the positions r of the hits among the
-- first k, where p is the probability that a reader goes on to the next position; the mean over
-- users.
-- views: _lists.sql
-- n of: users, rules
-- n: list_contains(sets, average_over) AND (n_rel > 0 OR empty <> 'drop')
WITH each_user AS (
    SELECT slice, "user", n_rec, n_rel, sets,
           coalesce(sum(amount * pow(coalesce(getvariable('p'), 0.8), position - 1)), 0) AS reached
    FROM lists
    GROUP BY ALL
)
SELECT slice,
       mean_over(average_over, sets, n_rel, empty,
                 (1 - coalesce(getvariable('p'), 0.8)) * reached) AS value
FROM each_user, rules
GROUP BY slice
