-- NDCG: the sum of the discounted gains of a user's hits among the first k, over that of the best
-- order; the mean over users. The best list is as long as ideal_over says. Without grades each of
-- its positions has a gain of 1.
-- views: _lists.sql
-- views: _discounts.sql
-- n of: users, rules
-- n: list_contains(sets, average_over_ndcg) AND (n_rel > 0 OR empty <> 'drop')
WITH each_user AS (
    SELECT slice, "user", n_rec, n_rel, sets,
           coalesce(sum(amount * discount(r.discount, position)), 0) AS gained
    FROM lists, rules AS r
    GROUP BY ALL
),
ideal AS (
    SELECT slice, "user", gain(grade) AS amount,
           row_number() OVER (PARTITION BY slice, "user" ORDER BY grade DESC, item) AS position
    FROM relevant
),
compared AS (
    SELECT u.*, r.*, divisor(r.ideal_over, NULL, n_rec, n_rel) AS length,
           CASE WHEN getvariable('gain') IN ('linear', 'exponential')
                THEN (SELECT sum(i.amount * discount(r.discount, i.position)) FROM ideal AS i
                      WHERE i.slice IS NOT DISTINCT FROM u.slice AND i."user" = u."user"
                        AND i.position <= length)
                ELSE list_sum([discount(r.discount, i) FOR i IN range(1, length::BIGINT + 1)])
           END AS best
    FROM each_user AS u, rules AS r
)
SELECT slice, mean_over(average_over_ndcg, sets, n_rel, empty, share(gained, best)) AS value
FROM compared
GROUP BY slice
