-- Expected reciprocal rank: a reader goes down the first k and stops at a hit with probability 1/2,
-- or with grades (2^grade - 1) / 2^max_grade, linear grade / (max_grade + 1). The mean of 1 over the
-- position of the stop, 0 without a stop; the mean over users.
-- views: _lists.sql
-- n of: users, rules
-- n: list_contains(sets, average_over) AND (n_rel > 0 OR empty <> 'drop')
WITH stopping AS (
    SELECT *, CASE WHEN hit IS NOT TRUE THEN 0
                   WHEN getvariable('gain') = 'linear' THEN grade / (getvariable('max_grade') + 1)
                   WHEN getvariable('gain') = 'exponential'
                   THEN (pow(2, grade) - 1) / pow(2, getvariable('max_grade'))
                   ELSE 0.5
              END AS stops
    FROM lists
),
reading AS (
    SELECT *, coalesce(exp(sum(ln(1 - stops)) OVER (
        PARTITION BY slice, "user" ORDER BY position ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    )), 1) AS arrives
    FROM stopping
),
each_user AS (
    SELECT slice, "user", n_rec, n_rel, sets, coalesce(sum(arrives * stops / position), 0) AS mean
    FROM reading
    GROUP BY ALL
)
SELECT slice, mean_over(average_over, sets, n_rel, empty, mean) AS value
FROM each_user, rules
GROUP BY slice
