-- Balanced accuracy: the mean of the accuracies among the positive and among the negative rows. Undefined
-- unless there are both.
-- views: _groups.sql
WITH recalls AS (
    SELECT slice, label, share(pred = label, true) AS recall
    FROM rows
    GROUP BY slice, label
)
SELECT slice, CASE WHEN count(recall) = 2 THEN avg(recall) END AS value
FROM recalls
GROUP BY slice
