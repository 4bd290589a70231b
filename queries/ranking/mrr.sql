-- Mean reciprocal rank: 1 over the position of the first hit among the first k, 0 without a hit;
-- the mean over users.
-- views: _lists.sql
-- n of: users, rules
-- n: list_contains(sets, average_over) AND (n_rel > 0 OR empty <> 'drop')
WITH each_user AS (
    SELECT slice, "user", n_rec, n_rel, sets, coalesce(1 / min(position) FILTER (hit), 0) AS reciprocal
    FROM lists
    GROUP BY ALL
)
SELECT slice, mean_over(average_over, sets, n_rel, empty, reciprocal) AS value
FROM each_user, rules
GROUP BY slice
