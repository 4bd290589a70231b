-- Hit rate: the share of users who have a relevant item among the first k recommendations.
-- views: _lists.sql
-- n of: users, rules
-- n: list_contains(sets, average_over) AND (n_rel > 0 OR empty <> 'drop')
WITH each_user AS (
    SELECT slice, "user", n_rec, n_rel, sets, coalesce(bool_or(hit), false)::INT AS found
    FROM lists
    GROUP BY ALL
)
SELECT slice, mean_over(average_over, sets, n_rel, empty, found) AS value
FROM each_user, rules
GROUP BY slice
