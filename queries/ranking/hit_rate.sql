-- Hit rate: the share of users who have a relevant item among the first k recommendations.
-- views: _lists.sql
WITH each_user AS (
    SELECT slice, "user", n_rec, n_rel, sets, coalesce(bool_or(hit), false)::INT AS found
    FROM lists
    GROUP BY ALL
)
SELECT slice, mean_over(average_over, sets, n_rel, empty, found) AS value
FROM each_user, rules
GROUP BY slice
