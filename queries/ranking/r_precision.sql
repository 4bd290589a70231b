-- R-precision: the share of a user's first n_rel recommendations that are relevant, where n_rel is
-- the number of relevant items of that user; positions beyond k do not count. The mean over users.
-- views: _lists.sql
-- n of: users, rules
-- n: list_contains(sets, average_over) AND (n_rel > 0 OR empty <> 'drop')
WITH each_user AS (
    SELECT slice, "user", n_rec, n_rel, sets,
           coalesce(sum(amount) FILTER (position <= n_rel), 0) AS n_hits
    FROM lists
    GROUP BY ALL
)
SELECT slice, mean_over(average_over, sets, n_rel, empty, share(n_hits, n_rel)) AS value
FROM each_user, rules
GROUP BY slice
