-- Mean average precision: the sum of the precision at the position of every hit among the first k,
-- over what the convention divides by; the mean over users.
-- views: _lists.sql
-- n of: users, rules
-- n: list_contains(sets, average_over_precision) AND (n_rel > 0 OR empty <> 'drop')
WITH running AS (
    SELECT *, sum(hit::INT) OVER (PARTITION BY slice, "user" ORDER BY position) / position AS precise
    FROM lists
),
each_user AS (
    SELECT slice, "user", n_rec, n_rel, sets,
           coalesce(sum(precise) FILTER (hit), 0) AS precise, count(*) FILTER (hit) AS n_hits
    FROM running
    GROUP BY ALL
)
SELECT slice,
       mean_over(average_over_precision, sets, n_rel, empty,
                 share(precise, divisor(map_by, n_hits, n_rec, n_rel))) AS value
FROM each_user, rules
GROUP BY slice
