-- Precision: the number of relevant items among a user's first k recommendations, over the number
-- of these recommendations or what the convention divides by; the mean over users.
-- views: _lists.sql
-- n of: users, rules
-- n: list_contains(sets, average_over_precision) AND (n_rel > 0 OR empty <> 'drop')
WITH each_user AS (
    SELECT slice, "user", n_rec, n_rel, sets, coalesce(sum(amount), 0) AS n_hits
    FROM lists
    GROUP BY ALL
)
SELECT slice,
       mean_over(average_over_precision, sets, n_rel, empty,
                 share(n_hits, divisor(precision_by, n_hits, n_rec, n_rel))) AS value
FROM each_user, rules
GROUP BY slice
