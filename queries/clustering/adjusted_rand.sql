-- Cohen's kappa over pairs of rows, of two yes-or-no questions: is it one cluster, and is it one
-- label? 1 where the answers are always the same.
-- views: _contingency.sql
WITH shares AS (
    SELECT slice, n, avg((together = alike)::INT) AS agreed,
           avg(together::INT) * avg(alike::INT)
           + avg((NOT together)::INT) * avg((NOT alike)::INT) AS expected
    FROM pairs
    GROUP BY slice, n
)
SELECT slice, CASE WHEN n = 1 OR agreed = 1 THEN 1 ELSE (agreed - expected) / (1 - expected) END AS value
FROM shares
