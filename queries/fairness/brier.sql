-- Brier score: the mean squared difference between score and label.
-- views: _groups.sql
SELECT slice, mean_of(pow(score - label::INT, 2), true) AS value
FROM rows
GROUP BY slice
