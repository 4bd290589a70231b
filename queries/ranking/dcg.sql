-- DCG: the sum of the discounted gains of a user's hits among the first k; the mean over the users
-- that NDCG is averaged over.
-- views: _lists.sql
-- views: _discounts.sql
-- n of: users, rules
-- n: list_contains(sets, average_over_ndcg) AND (n_rel > 0 OR empty <> 'drop')
WITH each_user AS (
    SELECT slice, "user", n_rel, sets, average_over_ndcg, empty,
           coalesce(sum(amount * discount(r.discount, position)), 0) AS gained
    FROM lists, rules AS r
    GROUP BY ALL
)
SELECT slice, mean_over(average_over_ndcg, sets, n_rel, empty, gained) AS value
FROM each_user
GROUP BY slice
