-- Average precision: the mean, over the positive rows, of the precision among the rows in the same bin or
-- a higher one.
-- views: _groups.sql
-- views: _scores.sql
WITH precisions AS (
    SELECT *, sum(weight * label::INT) OVER above / sum(weight) OVER above AS precision
    FROM binned
    WINDOW above AS (PARTITION BY slice ORDER BY low DESC)
)
SELECT slices.slice, mean_of(precision, label) AS value
FROM slices
LEFT JOIN precisions ON precisions.slice IS NOT DISTINCT FROM slices.slice
GROUP BY slices.slice
